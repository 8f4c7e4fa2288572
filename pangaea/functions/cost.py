"""What a function costs: the time of its steps, forwards and back, added up.

Microseconds for 65,536 numbers on one core, as `benchmarks/operator_costs.py` measured them. Of 371
functions the sum ranks as their measured times do (Spearman 0.98, each left out of the fit), and
is off by 6% in the median. An H200 ranks 19 functions much as it does (0.83 in float32, 0.94 in
bfloat16), but they differ less there, for its memory is slower than its arithmetic: by 1.4 and 2.5
times instead of 4.
"""

from collections.abc import Iterator
from functools import lru_cache

from pangaea.functions.catalog import resolve
from pangaea.functions.expression import Function
from pangaea.functions.learnable import Learnable, steps_of

CALL = "call"  # what every function costs, whatever it does
PARAMETER = "parameter"  # a product with it, and its gradient

COSTS = {
    "identity": 0,
    "negative": 34,
    "mul": 36,
    "sub": 37,
    "min": 40,
    "relu": 41,
    "add": 43,
    "div": 47,
    "square": 48,
    "max": 49,
    "abs": 59,
    "reciprocal": 65,
    "zero": 73,
    "softsign": 75,
    "hard_sigmoid": 84,
    "one": 89,
    "parameter": 91,
    "exp": 93,
    "call": 94,
    "expm1": 127,
    "leaky_relu": 127,
    "elu": 130,
    "cosh": 147,
    "sinh": 152,
    "atan": 163,
    "selu": 177,
    "tanh": 177,
    "softplus": 200,
    "logsigmoid": 202,
    "sigmoid": 203,
    "swish": 225,
    "mish": 245,
    "asinh": 251,
    "erf": 301,
    "bessel_i0e": 316,
    "bessel_i1e": 326,
    "erfc": 360,
    "gelu": 373,
    "elish": 378,
    "pow": 1103,
}


def steps(function: Function | Learnable) -> Iterator[str]:
    """The names of what is computed; what occurs twice is computed once."""
    for step in steps_of(function):
        yield PARAMETER if step.operator is None else step.operator


@lru_cache(16_384)
def cost(function: str) -> float:
    """Of the text of a function, or of a learnable baseline's name."""
    return float(COSTS[CALL] + sum(map(COSTS.__getitem__, steps(resolve(function)))))


def relative(function: str, baseline: str = "relu(x)") -> float:
    """How many times as much as the baseline it costs."""
    return cost(function) / cost(baseline)

"""What a function costs: the time of its steps, forwards and back, added up.

Microseconds for 65,536 numbers on one core, as `benchmarks/operator_costs.py` measured them. Of 386
functions the sum ranks as their measured times do (0.98, each of them left out of the fit), and is
off by 6% in the median. On a GPU most functions cost the same, for its memory is slower than its
arithmetic: the order stays, the differences do not.
"""

from collections.abc import Iterator
from functools import lru_cache

from pangaea.functions.catalog import LEARNABLE
from pangaea.functions.expression import Function
from pangaea.functions.parser import parse
from pangaea.functions.program import program

CALL = "call"  # what every function costs, whatever it does
PARAMETER = "parameter"  # a product with it, and its gradient

COSTS = {
    "identity": 0,
    "negative": 24,
    "mul": 34,
    "min": 36,
    "sub": 38,
    "div": 39,
    "add": 41,
    "relu": 43,
    "square": 45,
    "max": 45,
    "abs": 51,
    "reciprocal": 61,
    "softsign": 75,
    "zero": 75,
    "hard_sigmoid": 81,
    "parameter": 86,
    "one": 86,
    "call": 92,
    "exp": 96,
    "expm1": 116,
    "leaky_relu": 123,
    "elu": 132,
    "cosh": 141,
    "sinh": 151,
    "atan": 153,
    "selu": 170,
    "tanh": 176,
    "logsigmoid": 195,
    "sigmoid": 200,
    "softplus": 203,
    "swish": 211,
    "mish": 243,
    "asinh": 243,
    "erf": 296,
    "bessel_i0e": 308,
    "bessel_i1e": 320,
    "erfc": 348,
    "elish": 360,
    "gelu": 392,
    "pow": 1047,
    "prelu": 200,
    "apl": 800,
    "pau": 900,
    "splash": 900,
}


def steps(function: Function) -> Iterator[str]:
    """The names of what is computed; what occurs twice is computed once."""
    for step in program(function):
        yield PARAMETER if step.operator is None else step.operator


@lru_cache(16_384)
def cost(function: str) -> float:
    """Of the text of a function, or of a learnable baseline's name."""
    if function in LEARNABLE:
        return float(COSTS[function])
    return float(COSTS[CALL] + sum(map(COSTS.__getitem__, steps(parse(function)))))

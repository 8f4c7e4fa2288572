"""The paper's learnable baselines (its appendix C): programs with more parameters than a function.

They are steps over the operators, as functions are, so whatever runs those runs these.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

from pangaea.errors import UnknownNameError
from pangaea.functions.expression import Function
from pangaea.functions.program import Step, Steps, program, value_and_slope


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnable:
    """A baseline: what its parameters are called, where they start, and what it computes."""

    name: str
    scope: str
    formula: str
    tex: str
    initial: Mapping[str, float] = field(hash=False)
    steps: Steps

    @property
    def parameters(self) -> tuple[str, ...]:
        return tuple(self.initial)

    def __str__(self) -> str:
        return self.name

    def readable(self) -> str:
        return self.formula

    def latex(self) -> str:
        return self.tex

    def _repr_latex_(self) -> str:
        """For notebooks."""
        return f"${self.latex()}$"

    def __repr__(self) -> str:
        return f"Learnable({self.name!r})"

    def __call__(self, x: float, **parameters: float) -> float:
        """The value at the number `x`; parameters not given are as they start."""
        return value_and_slope(self.steps, x, self._values(parameters))[0]

    def slope(self, x: float, **parameters: float) -> float:
        """The derivative by `x` at the number `x`."""
        return value_and_slope(self.steps, x, self._values(parameters))[1]

    def _values(self, parameters: Mapping[str, float]) -> list[float]:
        for name in parameters:
            if name not in self.initial:
                raise UnknownNameError(f"parameter of {self}", name, self.initial)
        return [*{**self.initial, **parameters}.values()]


def initial(function: Function | Learnable) -> dict[str, float]:
    """Where the parameters start: a function's at one."""
    if isinstance(function, Learnable):
        return dict(function.initial)
    return dict.fromkeys(function.parameters, 1.0)


def usual_scope(function: Function | Learnable) -> str:
    """What shares a parameter's value if nobody says otherwise, as in the paper."""
    return function.scope if isinstance(function, Learnable) else "channel"


def steps_of(function: Function | Learnable) -> Steps:
    """What computes either of them."""
    return function.steps if isinstance(function, Learnable) else program(function)


class _Writer:
    """Writes steps down: every call is one, if it is new, and returns the number of its value."""

    def __init__(self) -> None:
        self.steps: dict[Step, int] = {}

    def __call__(self, operator: str, *inputs: int) -> int:
        return self._value(Step(operator, inputs))

    def scaled(self, value: int, parameter: int) -> int:
        return self._value(Step(None, (value,), parameter))

    def _value(self, step: Step) -> int:
        return self.steps.setdefault(step, len(self.steps) + 1)


X = 0  # the number of the input's value
HINGES = 7
SPLASH_HINGES = 4  # 0, 1, 2 and 2.5
PAU_NUMERATOR = (0.02979246, 0.61837738, 2.32335207, 3.05202660, 1.48548002, 0.25103717)
PAU_DENOMINATOR = (1.14201226, 4.39322834, 0.87154450, 0.34720652)


def _prelu() -> Steps:
    write = _Writer()
    zero = write("zero", X)
    # Where x is 0 the slope is 1: of equals the first input has it all.
    write("add", write("max", X, zero), write.scaled(write("min", zero, X), 0))
    return (*write.steps,)


def _apl() -> Steps:
    write = _Writer()
    total, one = write("relu", X), write("one", X)
    for s in range(HINGES):
        hinge = write.scaled(one, HINGES + s)
        part = write("relu", write("sub", hinge, X))
        total = write("add", total, write.scaled(part, s))
    return (*write.steps,)


def _pau() -> Steps:
    write = _Writer()
    one = write("one", X)

    def polynomial(parameters: range) -> int:
        *lower, last = parameters
        total = write.scaled(one, last)
        for k in reversed(lower):
            total = write("add", write("mul", total, X), write.scaled(one, k))
        return total

    degree = len(PAU_NUMERATOR)
    numerator = polynomial(range(degree))
    below = write("mul", X, polynomial(range(degree, degree + len(PAU_DENOMINATOR))))
    write("div", numerator, write("add", one, write("abs", below)))
    return (*write.steps,)


def _splash() -> Steps:
    write = _Writer()
    one = write("one", X)
    two = write("add", one, one)
    hinges = (one, two, write("add", two, write("reciprocal", two)))  # and 0, the first
    sides = (X, write("negative", X))
    parts = [part for side in sides for part in (side, *(write("sub", side, h) for h in hinges))]
    scaled = [write.scaled(write("relu", part), k) for k, part in enumerate(parts)]
    reduce(lambda total, part: write("add", total, part), scaled)
    return (*write.steps,)


LEARNABLE = {
    baseline.name: baseline
    for baseline in (
        Learnable(
            name="prelu",
            scope="neuron",
            formula="x if x ≥ 0 else α·x",
            tex=r"\max\{x, 0\} + \alpha \min\{x, 0\}",
            initial={"alpha": 0.25},
            steps=_prelu(),
        ),
        # The paper gives APL no starting values: with slopes 0 it starts as ReLU, and its hinges
        # are spread evenly over the inputs that batch norm delivers, −2 to 2.
        Learnable(
            name="apl",
            scope="neuron",
            formula="relu(x) + Σ aₛ·relu(bₛ − x), s = 1…7",
            tex=r"\max\{0, x\} + \sum_{s=1}^{7} a_s \max\{0, -x + b_s\}",
            initial={f"a{s}": 0.0 for s in range(1, HINGES + 1)}
            | {f"b{s}": 4 * (s - 1) / (HINGES - 1) - 2 for s in range(1, HINGES + 1)},
            steps=_apl(),
        ),
        Learnable(
            name="pau",
            scope="layer",
            formula="Σ aⱼ·xʲ / (1 + |Σ bₖ·xᵏ|), j = 0…5, k = 1…4",
            tex=r"\frac{\sum_{j=0}^{5} a_j x^j}{1 + \left|\sum_{k=1}^{4} b_k x^k\right|}",
            initial={f"a{j}": a for j, a in enumerate(PAU_NUMERATOR)}
            | {f"b{k}": b for k, b in enumerate(PAU_DENOMINATOR, 1)},
            steps=_pau(),
        ),
        Learnable(
            name="splash",
            scope="layer",
            formula="Σ upₛ·relu(x − bₛ) + downₛ·relu(−x − bₛ), b = 0, 1, 2, 2.5",
            tex=r"\sum_{s=1}^{4} a_s^+ \max\{0, x - b_s\} + a_s^- \max\{0, -x - b_s\}",
            initial={f"up{s}": float(s == 1) for s in range(1, SPLASH_HINGES + 1)}
            | {f"down{s}": 0.0 for s in range(1, SPLASH_HINGES + 1)},
            steps=_splash(),
        ),
    )
}

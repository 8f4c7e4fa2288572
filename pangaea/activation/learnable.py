"""The paper's learnable baselines that are not expressions of operators (its appendix C)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import torch
from torch import Tensor

from pangaea.errors import UnknownNameError


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnable:
    """A baseline: what its parameters are called, where they start, and what it computes."""

    name: str
    scope: str
    formula: str
    tex: str
    initial: Mapping[str, float] = field(hash=False)
    value: Callable[..., Tensor]

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
        return float(self.value(*self._tensors(x, parameters)))

    def slope(self, x: float, **parameters: float) -> float:
        """The derivative by `x` at the number `x`."""
        at, *factors = self._tensors(x, parameters)
        (slope,) = torch.autograd.grad(self.value(at.requires_grad_(), *factors), at)
        return float(slope)

    def _tensors(self, x: float, parameters: Mapping[str, float]) -> list[Tensor]:
        for name in parameters:
            if name not in self.initial:
                raise UnknownNameError(f"parameter of {self}", name, self.initial)
        values = (float(x), *{**self.initial, **parameters}.values())
        return [torch.tensor(value, dtype=torch.float64) for value in values]


HINGES = 7
SPLASH_HINGES = (0.0, 1.0, 2.0, 2.5)
PAU_NUMERATOR = (0.02979246, 0.61837738, 2.32335207, 3.05202660, 1.48548002, 0.25103717)
PAU_DENOMINATOR = (1.14201226, 4.39322834, 0.87154450, 0.34720652)


def _prelu(x: Tensor, alpha: Tensor) -> Tensor:
    return torch.where(x >= 0, x, alpha * x)


def _apl(x: Tensor, *parameters: Tensor) -> Tensor:
    slopes, hinges = parameters[:HINGES], parameters[HINGES:]
    parts = (a * torch.relu(b - x) for a, b in zip(slopes, hinges, strict=True))
    return sum(parts, start=torch.relu(x))


def _pau(x: Tensor, *parameters: Tensor) -> Tensor:
    def polynomial(coefficients: tuple[Tensor, ...]) -> Tensor:
        return reduce(lambda total, c: total * x + c, reversed(coefficients), torch.zeros_like(x))

    degree = len(PAU_NUMERATOR)
    return polynomial(parameters[:degree]) / (1 + (x * polynomial(parameters[degree:])).abs())


def _splash(x: Tensor, *parameters: Tensor) -> Tensor:
    half = len(SPLASH_HINGES)
    total = torch.zeros_like(x)
    for b, up, down in zip(SPLASH_HINGES, parameters[:half], parameters[half:], strict=True):
        total = total + up * torch.relu(x - b) + down * torch.relu(-x - b)
    return total


LEARNABLE = {
    baseline.name: baseline
    for baseline in (
        Learnable(
            name="prelu",
            scope="neuron",
            formula="x if x ≥ 0 else α·x",
            tex=r"\max\{x, 0\} + \alpha \min\{x, 0\}",
            initial={"alpha": 0.25},
            value=_prelu,
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
            value=_apl,
        ),
        Learnable(
            name="pau",
            scope="layer",
            formula="Σ aⱼ·xʲ / (1 + |Σ bₖ·xᵏ|), j = 0…5, k = 1…4",
            tex=r"\frac{\sum_{j=0}^{5} a_j x^j}{1 + \left|\sum_{k=1}^{4} b_k x^k\right|}",
            initial={f"a{j}": a for j, a in enumerate(PAU_NUMERATOR)}
            | {f"b{k}": b for k, b in enumerate(PAU_DENOMINATOR, 1)},
            value=_pau,
        ),
        Learnable(
            name="splash",
            scope="layer",
            formula="Σ upₛ·relu(x − bₛ) + downₛ·relu(−x − bₛ), b = 0, 1, 2, 2.5",
            tex=r"\sum_{s=1}^{4} a_s^+ \max\{0, x - b_s\} + a_s^- \max\{0, -x - b_s\}",
            initial={f"up{s}": float(s == 1) for s in range(1, len(SPLASH_HINGES) + 1)}
            | {f"down{s}": 0.0 for s in range(1, len(SPLASH_HINGES) + 1)},
            value=_splash,
        ),
    )
}

"""The paper's figures, as the runs and searches that they are drawn from."""

from pangaea.paper import searches
from pangaea.paper.contents import Cell, Experiment, printed

_CURVES = "figure:allcnnc_training_curves"
_SPLASH = "resnet-v1-{}/cifar100/test-curve"
_DEPTHS = (20, 32, 44, 56)


def _specialized() -> tuple[Cell, ...]:
    """The functions with parameters that were found for a network, once each, on that network."""
    return tuple(
        cell._replace(runs=1, printed=None)
        for cell in printed("results")
        if cell.scope and cell.group == f"specialized-{cell.task.partition('/')[0]}"
    )


def _curves() -> tuple[Cell, ...]:
    relu = next(cell for cell in printed("allcnnc") if cell.name == "relu")
    compared = (cell._replace(runs=1, printed=None) for cell in printed(_CURVES))
    return (relu._replace(runs=1, printed=None), *compared)


FIGURES = (
    Experiment(
        name="initialization",
        kind="figure",
        caption="Random initial functions: unary(unary(x)) and binary(unary(x), unary(x)).",
    ),
    Experiment(
        name="mutations",
        kind="figure",
        caption="Insert, remove, change and regenerate, each applied to the paper's parent.",
    ),
    Experiment(
        name="parameterization",
        kind="figure",
        caption="Parameters on up to three random edges of a function.",
    ),
    Experiment(
        name="progress",
        kind="figure",
        caption="The best validation accuracy so far in searches on three networks.",
        searches=searches.MAIN,
    ),
    Experiment(
        name="adaptation",
        kind="figure",
        caption="Parameters over epochs, averaged across the entire network, and over layers.",
        cells=_specialized(),
    ),
    Experiment(
        name="curves",
        kind="figure",
        caption="Training and validation curves of All-CNN-C with ReLU and four other functions.",
        cells=_curves(),
    ),
    Experiment(
        name="population",
        kind="figure",
        caption="The mean validation accuracy of the 64 most recent functions of four searches.",
        searches=searches.RELIABILITY,
    ),
    Experiment(
        name="cost",
        kind="figure",
        caption="Validation accuracy and training time of all functions of four searches.",
        searches=searches.RELIABILITY,
    ),
    Experiment(
        name="compute",
        kind="figure",
        caption="The best validation accuracy against the compute spent in four searches.",
        searches=searches.RELIABILITY,
    ),
    Experiment(
        name="splash",
        kind="figure",
        caption="SPLASH works in shallow networks, and becomes unstable with depth.",
        cells=tuple(
            Cell("splash", "splash", "splash", "layer", _SPLASH.format(depth), 10)
            for depth in _DEPTHS
        ),
    ),
)

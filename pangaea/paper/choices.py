"""Where the paper is silent: both ways, on the network where it may matter most."""

from pangaea.paper.contents import Cell, Experiment

_V1, _V2, _WRN = "resnet-v1-56/cifar100", "resnet-v2-56/cifar100", "wrn-10-4/cifar100"
_EPOCHS = 50
_WAYS = {
    _V1: ("keras-norm", "pixel-mean", "option-a", "biases", "truncated", "reflect"),
    _V2: ("keras-norm", "pixel-mean", "option-a", "biases", "truncated", "reflect"),
    _WRN: ("keras-norm", "reflect", "truncated"),
}


def _cells() -> tuple[Cell, ...]:
    return tuple(
        Cell(
            group="as here" if name == task else "otherwise",
            name="relu",
            function="relu(x)",
            scope=None,
            task=name,
            runs=2,
            budget=_EPOCHS,
        )
        for task, others in _WAYS.items()
        for name in (task, *(f"{task}/{other}" for other in others))
    )


CHOICES = (
    Experiment(
        name="choices",
        kind="selection",
        caption="ReLU with each choice on which the paper is silent, both ways, in 50 epochs.",
        cells=_cells(),
    ),
)

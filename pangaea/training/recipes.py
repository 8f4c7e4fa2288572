"""Recipes: the paper's training hyperparameters, as data (its appendix on training details)."""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import cos, pi

from pangaea.errors import PangaeaError, UnknownNameError

# "L2 regularization of λ" in Keras adds λ‖w‖² to the loss: a gradient of 2λw.
L2_TO_WEIGHT_DECAY = 2
PADDINGS = ("zeros", "reflect")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a network is trained. Epochs may be fractions: the rate is set for every step."""

    epochs: int
    batch: int = 128
    rate: float
    warmup: float = 0.0  # epochs at warmup_rate before everything else
    warmup_rate: float = 0.0
    drops: tuple[float, ...] = ()  # after these epochs the rate is multiplied by drop
    drop: float = 1.0
    decay: float = 1.0  # every epoch multiplies the rate by this
    one_cycle: bool = False  # rise for 30% of the steps, then fall to nothing, along a cosine
    momentum: float = 0.9
    nesterov: bool = False
    weight_decay: float
    activation_rate: float | None = None  # a constant rate for activation parameters
    featurewise: bool = False  # centre and normalise the inputs
    pixelwise: bool = False  # centre every pixel by its own mean
    flip: bool = False
    pad: int = 0  # random crops of images padded by so many pixels
    padding: str = "zeros"  # or reflect: the pixels of the border, mirrored
    judge_every: int = 1  # epochs between two points of the validation curve
    test_curve: bool = False  # test data, too, is judged by at each of them; no choice follows
    valid_above: float = 0.0  # runs that end below this score on the training data have failed

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1:
            raise PangaeaError(
                f"a recipe needs at least one epoch and one sample a batch, "
                f"got {self.epochs} and {self.batch}"
            )
        if self.padding not in PADDINGS:
            raise UnknownNameError("padding", self.padding, PADDINGS)

    def rate_at(self, epoch: float) -> float:
        """The learning rate `epoch` epochs into the training."""
        if epoch < self.warmup:
            return self.warmup_rate
        if self.one_cycle:
            rise = 0.3 * self.epochs
            if epoch < rise:
                return self.rate * (1 + 24 * (1 - cos(pi * epoch / rise)) / 2) / 25
            return self.rate * (1 + cos(pi * (epoch - rise) / (self.epochs - rise))) / 2
        drops = sum(epoch >= after for after in self.drops)
        return self.rate * self.drop**drops * self.decay ** int(epoch)

    def compressed(self, epochs: int) -> "Recipe":
        """The whole schedule in so many epochs: compressed, never cut off."""
        if isinstance(epochs, bool) or not isinstance(epochs, int) or epochs < 1:
            raise PangaeaError(f"a recipe needs at least one epoch, got {epochs!r}")
        ratio = epochs / self.epochs
        exact = tuple(after * ratio for after in self.drops)
        whole = tuple(float(round(after)) for after in exact)
        # Whole epochs, as in the paper, wherever there are enough of them.
        distinct = all(a < b for a, b in pairwise((0.0, *whole, float(epochs))))
        return replace(
            self,
            epochs=epochs,
            drops=whole if distinct else exact,
            # The paper's warm-up stays one epoch at 100; it is never more than 5%.
            warmup=min(self.warmup, 0.05 * epochs),
            decay=self.decay ** (1 / ratio),
            judge_every=max(1, round(self.judge_every * min(1.0, ratio))),
        )


WRN = Recipe(
    epochs=200,
    rate=0.1,
    drops=(60, 120, 160),
    drop=0.2,
    nesterov=True,
    weight_decay=L2_TO_WEIGHT_DECAY * 5e-4,
    featurewise=True,
    flip=True,
    pad=4,
)
RESNET_V2 = Recipe(
    epochs=200,
    rate=0.1,
    drops=(91, 137),
    drop=0.1,
    weight_decay=L2_TO_WEIGHT_DECAY * 1e-4,
    flip=True,
    pad=4,
)
RESNET_V1 = replace(RESNET_V2, warmup=1, warmup_rate=0.01)
ALL_CNN_C = Recipe(
    epochs=350,
    rate=0.01,
    drops=(200, 250, 300),
    drop=0.1,
    weight_decay=L2_TO_WEIGHT_DECAY * 1e-3,
    featurewise=True,
    flip=True,
    pad=5,
)
SMALL_CNN = Recipe(
    epochs=40,
    batch=100,
    rate=0.1,
    one_cycle=True,
    nesterov=True,
    weight_decay=5e-4,
    judge_every=10,
)


# By name, with the epochs of a search, whose recipe is the full one compressed.
RECIPES = {
    "wrn": (WRN, 100),
    "resnet-v1": (RESNET_V1, 100),
    "resnet-v2": (RESNET_V2, 100),
    "all-cnn-c": (ALL_CNN_C, ALL_CNN_C.epochs),
    "small-cnn": (SMALL_CNN, 20),
}


def pau(full: Recipe) -> Recipe:
    """The special set-up that PAU needs (appendix on learnable activation functions)."""
    return replace(
        full,
        epochs=200,
        batch=64,
        rate=0.01,
        warmup=0.0,
        drops=(),
        one_cycle=False,
        decay=0.985,
        nesterov=False,
        weight_decay=5e-4,
        activation_rate=0.01,
        valid_above=50.0,
    )

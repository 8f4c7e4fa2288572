"""Tasks: their names, their sizes counted by hand, and what a wrong name is answered."""

import pytest
import torch

import pangaea as pg
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.networks import networks
from pangaea.tasks.classification import DEFAULT, Classification, names, recipes


def test_the_default_task_comes_first_and_the_papers_networks_follow() -> None:
    first, *others = names()
    assert pg.tasks()[0] == first == DEFAULT == "mnist1d"
    wanted = {f"{n}/{d}" for n in networks() if n != "small-cnn" for d in ("cifar10", "cifar100")}
    assert set(others) == wanted
    assert len(others) == len(wanted)


@pytest.mark.parametrize(
    ("name", "network", "classes", "shape"),
    [
        ("mnist1d", "small-cnn", 10, (1, 40)),
        ("wrn-10-4/cifar100", "wrn-10-4", 100, (3, 32, 32)),
        ("resnet-v1-56/cifar10", "resnet-v1-56", 10, (3, 32, 32)),
        ("all-cnn-c/cifar100", "all-cnn-c", 100, (3, 32, 32)),
        ("resnet-v2-11/cifar10", "resnet-v2-11", 10, (3, 32, 32)),  # no network of the paper
    ],
)
def test_a_name_says_what_the_task_is(
    name: str, network: str, classes: int, shape: tuple[int, ...]
) -> None:
    task = pg.task(name)
    assert (task.name, task.network) == (name, network)
    assert (task.data_set.classes, task.data_set.shape) == (classes, shape)
    assert task.recipes == recipes(network)
    assert task.build("relu").eval()(torch.zeros(2, *shape)).shape == (2, classes)


def test_a_task_is_its_own_name() -> None:
    task = pg.task("mnist1d")
    assert pg.task(task) is task


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("mnist1dd", "mnist1d"),
        ("MNIST1D", "mnist1d"),
        ("wrn-10-4", "wrn-10-4/cifar10"),
        ("wrn-10-4/", "wrn-10-4/cifar10"),
        ("wrn-10-4/cifar11", "wrn-10-4/cifar10"),
        ("wrn10-4/cifar100", "wrn-10-4/cifar100"),
        ("resnet-v1-56/cifar1000", "resnet-v1-56/cifar100"),
        ("resnet-v3-56/cifar10", "resnet-v2-56/cifar10"),
        ("all-cnn/cifar10", "all-cnn-c/cifar10"),
        ("small-cnn/cifar10", "all-cnn-c/cifar10"),
        ("small-cnn/mnist1d", "mnist1d"),
        ("wrn-10-4/mnist1d", "wrn-10-4/cifar10"),
    ],
)
def test_a_wrong_name_is_answered_with_near_ones(name: str, near: str) -> None:
    with pytest.raises(UnknownNameError, match="no task is called") as caught:
        pg.task(name)
    offered = str(caught.value).split("did you mean ")[1].rstrip("?").split(", ")
    assert set(offered) <= set(pg.tasks())
    assert near in offered


@pytest.mark.parametrize("name", ["", " "])
def test_no_name_is_said_to_be_none(name: str) -> None:
    with pytest.raises(PangaeaError, match="a task has a name, such as mnist1d"):
        pg.task(name)


@pytest.mark.parametrize("name", ["/", "?", "/cifar10"])
def test_a_name_near_to_none_is_answered_with_some(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean .+/cifar10"):
        pg.task(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("wrn-11-4/cifar10", "depth is 6n + 4, got 11; the nearest is 10"),
        ("wrn-10-0/cifar10", "at least 1, got 0"),
        ("resnet-v1-21/cifar100", "depth is 6n + 2, got 21; the nearest is 20"),
        ("resnet-v2-12/cifar100", "depth is 9n + 2, got 12; the nearest is 11"),
    ],
)
def test_an_impossible_depth_is_answered_with_the_nearest(name: str, message: str) -> None:
    with pytest.raises(PangaeaError) as caught:
        pg.task(name)
    assert message in str(caught.value)


@pytest.mark.parametrize("thing", [None, 3, ["mnist1d"], b"mnist1d"])
def test_a_task_is_a_name(thing: object) -> None:
    with pytest.raises(PangaeaError, match="such as mnist1d, got"):
        pg.task(thing)  # type: ignore[arg-type]


def test_a_recipe_is_found_by_its_name_and_compressed_if_asked() -> None:
    task = pg.task("wrn-10-4/cifar10")
    assert task.recipe("search") == recipes("wrn-10-4")["search"]
    assert task.recipe("full", 50) == recipes("wrn-10-4")["full"].compressed(50)
    own = recipes("all-cnn-c")["full"]
    assert task.recipe(own) is own
    assert task.recipe(own, 7).epochs == 7
    with pytest.raises(UnknownNameError, match="no recipe is called 'serach'; did you mean search"):
        task.recipe("serach")


def convolution(inputs: int, outputs: int, kernel: int, pixels: int) -> int:
    """One multiplication for each weight at each pixel of the output."""
    return outputs * pixels * inputs * kernel


def test_the_multiplications_of_the_small_network_are_counted_by_hand() -> None:
    lengths = (20, 10, 5, 5, 5)  # of 40 samples, halved three times
    convolutions = sum(
        convolution(inputs, 16, 3, length)
        for inputs, length in zip((1, 16, 16, 16, 16), lengths, strict=True)
    )
    assert convolutions == 20_160
    assert pg.task("mnist1d").multiplications == convolutions + 16 * 5 * 10


@pytest.mark.parametrize("classes", [10, 100])
def test_the_multiplications_of_wrn_10_4_are_counted_by_hand(classes: int) -> None:
    total = convolution(3, 16, 9, 32 * 32)
    for inputs, outputs, side in ((16, 64, 32), (64, 128, 16), (128, 256, 8)):
        total += convolution(inputs, outputs, 9, side * side)
        total += convolution(outputs, outputs, 9, side * side)
        total += convolution(inputs, outputs, 1, side * side)  # the shortcut
    total += 256 * classes
    assert pg.task(f"wrn-10-4/cifar{classes}").multiplications == total


def test_the_parameters_of_the_small_network_are_counted_by_hand() -> None:
    weights = 16 * 1 * 3 + 4 * 16 * 16 * 3
    norms = 5 * 2 * 16
    assert pg.task("mnist1d").parameters == weights + norms + (16 * 5 * 10 + 10)


def test_the_parameters_of_wrn_10_4_are_counted_by_hand() -> None:
    total = 3 * 16 * 9
    for inputs, outputs in ((16, 64), (64, 128), (128, 256)):
        weights = inputs * outputs * 9 + outputs * outputs * 9 + inputs * outputs
        total += weights + 2 * inputs + 2 * outputs
    total += 2 * 256 + 256 * 100 + 100
    assert pg.task("wrn-10-4/cifar100").parameters == total


def test_parameters_of_the_function_come_on_top() -> None:
    task = pg.task("mnist1d")

    def count(function: str, scope: str | None = None) -> int:
        model = task.build(function, scope)  # type: ignore[arg-type]
        return sum(p.numel() for p in model.parameters())

    plain = task.parameters
    assert count("relu") == plain
    assert count("alpha*tanh(beta*x)", "layer") == plain + 2 * 5
    assert count("alpha*tanh(beta*x)") == plain + 2 * 5 * 16
    assert count("alpha*tanh(beta*x)", "neuron") == plain + 2 * 16 * (20 + 10 + 5 + 5 + 5)


def test_counting_takes_no_random_numbers() -> None:
    before = torch.get_rng_state()
    task: Classification = pg.task("wrn-10-4/cifar10")
    assert task.multiplications > task.parameters > 0
    assert torch.equal(torch.get_rng_state(), before)

"""What people are told when they mistype."""

import pickle

from pangaea.errors import UnknownNameError

TASKS = ["mnist1d", *(f"all-cnn-{i}/cifar10" for i in range(9)), "wrn-10-4/cifar100"]


def offered(name: str, known: list[str]) -> list[str]:
    return str(UnknownNameError("task", name, known)).split("did you mean ")[1][:-1].split(", ")


def test_a_mistyped_name_is_answered_with_the_close_ones() -> None:
    assert offered("mnsit1d", TASKS) == ["mnist1d"]


def test_a_name_like_none_is_answered_with_the_nearest_and_not_the_first_of_the_alphabet() -> None:
    assert offered("wrn", TASKS)[0] == "wrn-10-4/cifar100"
    assert offered("resnet", [f"a{i}" for i in range(20)] + ["preact-resnet-v2-56"])[0] == (
        "preact-resnet-v2-56"
    )
    assert len(offered("quux", TASKS)) == 5


def test_of_few_names_all_are_offered() -> None:
    assert set(offered("1", ["layer", "channel", "neuron"])) == {"layer", "channel", "neuron"}


def test_where_there_are_no_names_that_is_said() -> None:
    assert str(UnknownNameError("parameter of x", "alpha", ())) == (
        "no parameter of x is called 'alpha'; it has none"
    )


def test_it_travels_between_processes() -> None:
    error = UnknownNameError("task", "wrn", TASKS)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)

"""The size of a space: the paper's table, and the arrangements it missed."""

import pytest

from pangaea.functions.counting import PAPER_TOTAL, Split, arrangements, functions, splits
from pangaea.functions.space import PAPER, PRESETS, Space

SMALL = {
    "any": Space("small", unary=("relu", "tanh"), binary=("add", "mul"), max_nodes=5, parameters=1),
    "unary": Space("unary", unary=("relu", "tanh", "erf"), binary=(), max_nodes=4),
    "units": Space("units", unary=("relu", "tanh"), binary=("add",), max_nodes=9, levels=2),
    "tall": Space(
        "tall", unary=("tanh",), binary=("add", "sub"), max_nodes=9, levels=3, parameters=0
    ),
}


def test_the_papers_table_comes_out() -> None:
    printed = [108, 5_832, 427_923, 31_177_872, 2_210_558_364, 152_059_087_566, 10_015_741_690_785]
    for nodes, count in enumerate(printed, 1):
        assert sum(split.paper_functions for split in splits() if split.nodes == nodes) == count
    assert sum(split.paper_functions for split in splits()) == PAPER_TOTAL == 10_170_042_948_450


def test_the_papers_count_with_all_five_arrangements() -> None:
    assert Split(3, 4).arrangements == 5
    assert sum(split.functions for split in splits()) == 10_339_202_744_514


@pytest.mark.parametrize("name", PRESETS)
def test_enumerating_the_arrangements_gives_their_number(name: str) -> None:
    for split in splits(PRESETS[name]):
        shapes = [str(shape) for shape in arrangements(split)]
        assert len(shapes) == len(set(shapes)) == split.arrangements


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_enumerating_all_functions_gives_their_number(nodes: int) -> None:
    texts = {str(f) for f in functions(nodes)}
    assert len(texts) == sum(split.functions for split in splits() if split.nodes == nodes)


@pytest.mark.parametrize("name", SMALL)
def test_a_small_space_holds_all_functions_that_are_counted_in_it(name: str) -> None:
    space = SMALL[name]
    for size in {split.nodes for split in splits(space)}:
        found = list(functions(size, space))
        count = sum(split.functions for split in splits(space) if split.nodes == size)
        assert len({str(f) for f in found}) == len(found) == count
        assert all(space.holds(f) and f.nodes == size for f in found)


def test_core_units_are_counted_by_hand() -> None:
    """One unit has u²b functions; two can be composed in two ways; three in two levels in one."""
    s1, s2 = PRESETS["s1"], PRESETS["s2"]
    u, b = len(s1.unary), len(s1.binary)
    assert [split.functions for split in splits(s1)] == [u**2 * b]
    assert [split.functions for split in splits(s2)] == [u**2 * b, 2 * u**4 * b**2, u**6 * b**3]
    assert [split.arrangements for split in splits(SMALL["tall"])] == [1, 2, 5]


def test_fewer_operators_or_parameters_make_fewer_functions() -> None:
    sizes = {name: sum(s.functions for s in splits(PRESETS[name])) for name in PRESETS}
    assert sizes["paper"] == max(sizes.values())
    assert sizes["cheap"] < sizes["paper"]
    assert sizes["nonparametric"] == sum(
        split.arrangements * 27**split.unary * 7**split.binary for split in splits(PAPER)
    )

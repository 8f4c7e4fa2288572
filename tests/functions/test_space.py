"""The size of the search space: the paper's table, and the arrangements it missed."""

import pytest

from pangaea.functions.space import MAX_NODES, PAPER_TOTAL, Row, arrangements, functions, rows


def test_the_papers_table_comes_out() -> None:
    printed = [108, 5_832, 427_923, 31_177_872, 2_210_558_364, 152_059_087_566, 10_015_741_690_785]
    for nodes, count in enumerate(printed, 1):
        assert sum(row.paper_functions for row in rows() if row.nodes == nodes) == count
    assert sum(row.paper_functions for row in rows()) == PAPER_TOTAL


def test_the_right_total_counts_all_five_arrangements() -> None:
    assert Row(3, 4).arrangements == 5
    assert sum(row.functions for row in rows()) == 10_339_202_744_514


@pytest.mark.parametrize("row", rows(MAX_NODES))
def test_enumerating_the_arrangements_gives_their_number(row: Row) -> None:
    found = {str(shape) for shape in arrangements(row.binary, row.unary)}
    assert len(found) == row.arrangements
    assert sum(1 for _ in arrangements(row.binary, row.unary)) == row.arrangements


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_enumerating_all_functions_gives_their_number(nodes: int) -> None:
    texts = {str(f) for f in functions(nodes)}
    assert len(texts) == sum(row.functions for row in rows() if row.nodes == nodes)

"""The tables of settings in the docs are those of their declarations."""

from pathlib import Path

import pytest

from pangaea.evolution.strategies import evolution, strategies
from pangaea.settings import declarations, table
from pangaea.study.settings import Settings
from pangaea.workers.place import Place

DOCS = Path(__file__).parents[1] / "docs" / "search.md"


@pytest.mark.parametrize("owner", [Settings, evolution.Settings, Place])
def test_the_docs_list_every_setting_as_it_is_declared(owner: type) -> None:
    assert table(declarations(owner)) in DOCS.read_text(encoding="utf-8")


def test_every_setting_of_every_strategy_is_in_the_docs() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for strategy in strategies().values():
        for declared in declarations(strategy.settings):
            assert f"| `{declared.name}` | {declared.explained} |" in text

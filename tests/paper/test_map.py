"""docs/paper_map.md names what exists, and leaves nothing out."""

import re

import pytest

from pangaea.paper.contents import experiments
from pangaea.tasks.variants import VARIANTS
from tests.study.driving import REPOSITORY

TEXT = (REPOSITORY / "docs" / "paper_map.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL))


def test_every_file_that_the_map_names_is_there() -> None:
    files = [text for text in CODE if re.fullmatch(r"[\w/]+\.(py|csv)", text)]
    assert len(files) > 40
    folders = [REPOSITORY / top for top in ("pangaea", "tests")]
    for file in files:
        assert any((top / file).exists() or [*top.rglob(file)] for top in folders), file


@pytest.mark.parametrize("name", experiments())
def test_the_map_has_every_experiment(name: str) -> None:
    assert re.search(rf"`{name}`|pangaea paper run {name}\b|paper show {name}\b", TEXT)


@pytest.mark.parametrize("variant", [*VARIANTS])
def test_the_map_has_every_other_choice(variant: str) -> None:
    if variant not in ("pau", "few"):
        assert f"/{variant}`" in TEXT or f"…/{variant}`" in TEXT

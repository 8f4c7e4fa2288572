"""Studies to look at, one of each kind."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pangaea.evolution.trials import Proposal
from pangaea.functions.parser import parse
from pangaea.report.records import Snapshot, opened
from tests.study_maker import LOSS, Maker, forge, generalize, make

EARLIER = Path(__file__).parents[1] / "study" / "data" / "v1.sqlite"  # of schema 1

HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(2)'>",
    "</script><script>alert(3)</script><!--",
    "%{y} {{data}} ${1} `x` | \\ &lt;b&gt; __proto__",
    "constructor",
    "<b>" + "x" * 300,
    "\x1b[31m\x1b]0;owned\x07\x9b2J\u202e\n\r=1+1",
]


def empty(path: Path) -> Path:
    with Maker(path):
        pass
    return path


def failed(path: Path) -> Path:
    with Maker(path, candidates=5) as maker:
        maker.baseline()
        with maker.study.transaction():
            for number in range(1, 6):
                maker.add(number, Proposal(parse("exp(exp(exp(x)))"), None, "initial"))
    return path


KINDS: dict[str, Callable[[Path], Path]] = {
    "finished": lambda path: make(path, 60),
    "running": lambda path: make(path, 60, done=20),
    "empty": empty,
    "failed": failed,
    "hostile": lambda path: forge(path, HOSTILE),
    "minimised": lambda path: make(path, 60, goal=LOSS, baseline="gelu(x)", unit="steps"),
    "several": lambda path: make(path, 60, again=4),
    "general": generalize,
    "earlier": lambda path: Path(shutil.copy(EARLIER, path)),
    "random": lambda path: make(path, 30, strategy="random-search", scope="layer"),
}


@pytest.fixture(scope="session")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("studies")
    return {kind: build(folder / f"{kind}.study") for kind, build in KINDS.items()}


@pytest.fixture
def study(paths: dict[str, Path]) -> Iterator[Snapshot]:
    with opened(paths["finished"]) as finished:
        yield finished

"""The examples run, on tiny settings; their real results stand in docs/examples.md."""

from pathlib import Path
from typing import Any

import pytest

import pangaea as pg

pytestmark = [pytest.mark.ecosystem, pytest.mark.filterwarnings("ignore")]  # theirs, not ours

ROOT = Path(__file__).parents[2]
TASKS = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
TINY: dict[str, Any] = {"candidates": 2, "budget": 1, "runs": 0, "rerank": False, "workers": 0}


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.stem)
def test_a_task_is_searched_on_and_tested(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    where = f"{path}:task"
    with pg.search(where, study=tmp_path / "a.study", **TINY) as study:
        assert study.baseline_score is not None
        assert len(study.table()) == 2
        assert "exception" not in study.failures()
    judged = pg.evaluate("swish", where, runs=1, epochs=1, data="test")
    assert judged.failures == 0
    assert "validation" in judged.results[0].values
    assert judged.results[0].score != judged.results[0].values["validation"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_to_its_end(path: Path, tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    (settings,) = (c for c in notebook.cells if "parameters" in c["metadata"].get("tags", ()))
    settings["source"] = "candidates, runs = 2, 1"
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=1200, resources=place).execute()
    printed = "".join(o.get("text", "") for c in notebook.cells for o in c.get("outputs", ()))
    assert "replaced by" in printed
    with pg.open_study(tmp_path / "spirals.study") as study:
        assert len(study.runs("test")) == len(study.scores("test"))

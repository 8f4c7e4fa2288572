"""Every experiment runs on a few real images: a sample always, all of them in `make test-all`."""

import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pangaea.cli.app import app
from pangaea.paper.contents import experiments
from pangaea.paper.running import run
from pangaea.study.study import Study

EXPERIMENTS = [name for name, row in experiments().items() if row.cells or row.searches]


@pytest.fixture
def real(cifar_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with the real data at hand."""
    monkeypatch.setenv("PANGAEA_DATA", str(cifar_folder))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def smoke(folder: Path, name: str, **how: object) -> None:
    path = folder / "paper.study"
    outcome = run(name, study=path, scale="smoke", **how)  # type: ignore[arg-type]
    assert (outcome.done, outcome.in_time) == (outcome.total, True)
    with Study.open(path) as study:
        rows = study.runs("paper")
    failures = {row["failure"] for row in rows} - {None, "diverged", "exploded", "untrained"}
    assert failures == set()
    assert all(row["score"] is None or math.isfinite(row["score"]) for row in rows)
    for search in outcome.searches:
        with Study.open(search) as study:
            assert len(study.table()) == study.settings.candidates
    shown = CliRunner().invoke(app, ["paper", "show", name, "--study", str(path)])
    assert shown.exit_code == 0, shown.output
    assert experiments()[name].caption in shown.output


def test_a_cell_of_the_main_table_runs_on_real_images(real: Path) -> None:
    smoke(real, "results", only=["resnet-v1-1"], workers=0)


def test_a_search_of_the_paper_runs_on_real_images(
    real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the three of this figure."""
    row = experiments()["progress"]
    monkeypatch.setitem(row.__dict__, "searches", [s for s in row.searches if s.name == "wrn-10-4"])
    smoke(real, "progress", workers=0)
    assert (real / "progress.html").stat().st_size > 1_000_000


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all experiments, as people have: what several need is run once."""
    return tmp_path_factory.mktemp("paper")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_runs_on_real_images(
    real: Path, together: Path, cifar10_folder: Path, name: str
) -> None:
    smoke(together, name, workers=0)


@pytest.mark.slow
def test_experiments_run_on_two_cores(real: Path) -> None:
    smoke(real, "search_strategy", workers=2)

"""A function as source, where it is shown: as it starts, and as training left it."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

import pangaea as pg
from pangaea.cli.app import app
from pangaea.report import formats, sources
from pangaea.report.page.document import report
from pangaea.report.records import Snapshot, opened
from pangaea.report.terminal import best
from tests.study_maker import Maker

TEXT = "alpha*atan(beta*mish(x))"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A study whose best function has trained parameters, and its second none at all."""
    with Maker(tmp_path / "it's mine.study", candidates=2, runs=0) as maker:
        with maker.study.transaction():
            for number, (text, score) in enumerate(((TEXT, 75.0), ("tanh(x)", 70.0)), 1):
                maker.study.add(number, text, None, "initial")
                maker.run("search", number, text, number, score)
        return maker.study.path


@pytest.fixture
def study(path: Path) -> Any:
    with opened(path) as snapshot:
        yield snapshot


def values(source: str) -> torch.Tensor:
    """What the module of a PyTorch source makes of a few numbers."""
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    result: torch.Tensor = namespace["Activation"]()(torch.linspace(-3, 3, 13)).detach()
    return result


def test_copies_start_at_one_and_the_trained_ones_where_training_ended(
    study: Snapshot, path: Path
) -> None:
    first, second = report(study, [study])["details"]
    assert [*first["copies"]] == [*first["trained"]] == ["PyTorch", "JAX", "Keras", "LaTeX"]
    activation = pg.open_study(path).activation(1, scope="layer")
    means = {name: getattr(activation, name).item() for name in ("alpha", "beta")}
    assert all(abs(mean - 1) > 0.01 for mean in means.values())
    x = torch.linspace(-3, 3, 13)
    assert torch.allclose(values(first["copies"]["PyTorch"]), pg.Activation(TEXT, scope="layer")(x))
    trained = values(first["trained"]["PyTorch"])
    assert torch.allclose(trained, activation(x), rtol=1e-3)
    assert rf"\alpha = {means['alpha']:.4g}" in first["trained"]["LaTeX"]
    assert second["trained"] == {}


def test_the_command_for_the_trained_function_is_where_the_function_is(
    study: Snapshot, path: Path
) -> None:
    first, second = study.best(2)
    command = sources.trained_command(study, first)
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert done.exit_code == 0, done.output
    x = torch.linspace(-3, 3, 13)
    expected = pg.open_study(path).activation(1, scope="layer")(x)
    assert torch.allclose(values(done.stdout), expected, atol=1e-6)
    assert f"\nas trained   {command}\n" in best.advice(study, Path("s.html"))
    assert f"\nas it was trained: {command}, " in best.export_hint(study)
    assert f"\n    {command}\n" in formats.markdown([study])
    assert sources.trained_command(study, second) == ""

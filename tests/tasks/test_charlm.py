"""The language model: its text, and what it may see of it."""

from pathlib import Path

import pytest
import torch

import pangaea as pg
from pangaea.data import python_source
from pangaea.errors import PangaeaError
from pangaea.networks.transformer import Gated, Transformer
from pangaea.tasks.charlm import Charlm


def built(name: str) -> torch.nn.Module:
    task = pg.task(name)
    assert isinstance(task, Charlm)
    return task.build(pg.parse("swish(x)"), lambda shape: pg.Activation("swish(x)"))


def test_no_file_stands_in_two_parts() -> None:
    files = [name for part in python_source.FILES.values() for name in part]
    assert len(files) == len(set(files))


def test_most_of_the_text_is_for_training() -> None:
    sizes = {part: len(python_source.text(part)) for part in python_source.FILES}
    assert sizes["training"] > 1_000_000
    assert min(sizes["validation"], sizes["test"]) > 100_000


def test_the_digest_is_of_the_contents_and_kept_with_the_study(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    digest = python_source.digest()
    assert pg.task("charlm").about()["digest"] == digest
    assert len(digest) == 64
    python_source.digest.cache_clear()
    assert python_source.digest() == digest
    monkeypatch.setattr(python_source, "text", lambda part: b"changed" + part.encode())
    python_source.digest.cache_clear()
    assert python_source.digest() != digest
    python_source.digest.cache_clear()


def test_a_python_without_source_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(python_source.sysconfig, "get_path", lambda _: str(tmp_path))
    python_source.text.cache_clear()
    with pytest.raises(PangaeaError, match="without the source of its standard library"):
        python_source.text("test")


def test_windows_reach_from_the_first_byte_to_the_last() -> None:
    windows = python_source.windows("validation", 65, 512)
    text = python_source.text("validation")
    assert windows.shape == (512, 65)
    assert bytes(windows[0].tolist()) == text[:65]
    assert bytes(windows[-1].tolist()) == text[-65:]


def test_no_place_sees_what_comes_after_it() -> None:
    model = built("charlm")
    torch.nn.init.normal_(model.output.weight)  # type: ignore[arg-type, union-attr]
    text = python_source.windows("validation", 64, 1)
    other = text.clone()
    other[0, 40:] = 0
    with torch.no_grad():
        before, after = model(text)[0], model(other)[0]
    assert torch.equal(before[:40], after[:40])
    assert not torch.equal(before[40:], after[40:])


def test_an_untrained_model_finds_all_bytes_alike() -> None:
    task = pg.task("charlm")
    assert isinstance(task, Charlm)
    with torch.no_grad():
        assert task.score(built("charlm"), "validation", torch.device("cpu")) == pytest.approx(8.0)


def test_a_gate_is_the_function_of_one_branch_times_the_other() -> None:
    layer = Gated(4, 6, lambda shape: pg.Activation("swish(x)"))
    x = torch.randn(2, 3, 4)
    expected = layer.output(torch.nn.functional.silu(layer.inputs(x)) * layer.gated(x))
    torch.testing.assert_close(layer(x), expected)
    assert pg.task("charlm-gated").baseline == "swish(x)"
    assert any(isinstance(module, Gated) for module in built("charlm-gated").modules())


def test_a_gate_costs_no_parameters() -> None:
    plain, gated = built("charlm"), built("charlm-gated")
    assert sum(p.numel() for p in plain.parameters()) == sum(p.numel() for p in gated.parameters())


def test_the_large_one_is_made_for_a_gpu() -> None:
    assert pg.task("charlm-large").fast_on_gpu
    assert not pg.task("charlm").fast_on_gpu
    model = built("charlm-large")
    assert isinstance(model, Transformer)
    assert sum(p.numel() for p in model.parameters()) > 10_000_000

"""What people get when they install and import the package."""

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        [str(part) for part in command], capture_output=True, text=True, timeout=300, **options
    )


@pytest.mark.parametrize("command", ["import pangaea", "import pangaea.cli"])
def test_importing_does_not_import_torch_or_numpy(command: str) -> None:
    check = f"{command}; import sys; print('torch' in sys.modules, 'numpy' in sys.modules)"
    assert run(sys.executable, "-c", check).stdout.split() == ["False", "False"]


def test_every_public_name_can_be_had() -> None:
    import pangaea

    for name in pangaea.__all__:
        assert getattr(pangaea, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = pangaea.nothing


def test_a_wheel_works_in_a_bare_environment(tmp_path: Path) -> None:
    built = run(
        sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", tmp_path, cwd=ROOT
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("pangaea_search-*.whl")
    assert "pangaea/study/runs.csv.gz" in zipfile.ZipFile(wheel).namelist()  # for pg.bench()
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    light = run(python, "-m", "pip", "install", "-c", ROOT / "constraints.txt", "typer", "rich")
    if light.returncode != 0:
        pytest.skip("the package registry cannot be reached")
    assert run(python, "-m", "pip", "install", "--no-deps", wheel).returncode == 0
    program = tmp_path / "env" / "bin" / "pangaea"
    assert "10,339,202,744,514" in run(program, "space", cwd=tmp_path).stdout
    listed = json.loads(run(program, "list", "--json", cwd=tmp_path).stdout)
    assert len(listed) > 200
    shown = run(program, "show", "alpha*x - log(sigmoid(beta*x))", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    typed = "import pangaea; from importlib.resources import files as f; "
    typed += "print(f('pangaea').joinpath('py.typed').is_file())"
    assert run(python, "-c", typed, cwd=tmp_path).stdout.strip() == "True"

"""The distribution as people get it: in an empty environment, outside the repository."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
import yaml

import pangaea

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
release = pytest.mark.release


def run(*command: str | Path, cwd: Path, check: bool = True) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean | {"COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "-o", folder, cwd=ROOT)
    return folder


def lowest(requirement: str) -> str:
    """The requirement at its lower bound: `numpy==2.0` for `numpy>=2.0`."""
    name, bound = re.match(r"([\w-]+)>=([\w.]+)", requirement).groups()  # type: ignore[union-attr]
    return f"{name}=={bound}"


@pytest.fixture(scope="module", params=["lowest", "newest"])
def environment(
    request: pytest.FixtureRequest, dist: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """An environment with the wheel and what it asks for, and nothing else."""
    folder = tmp_path_factory.mktemp(request.param)
    # Torch brings CUDA along, gigabytes of it: this is for a release, not for every change.
    versions = map(lowest, PROJECT["dependencies"]) if request.param == "lowest" else ()
    (folder / "versions.txt").write_text("\n".join(versions))
    venv.create(folder / "env", with_pip=True)
    (wheel,) = dist.glob("*.whl")
    python = folder / "env" / "bin" / "python"
    install = (python, "-m", "pip", "install", "--quiet", "-c", folder / "versions.txt")
    reached = subprocess.run([*install, "--dry-run", "rich"], capture_output=True)
    if reached.returncode != 0:
        pytest.skip("the package registry cannot be reached")
    run(*install, wheel, cwd=folder)
    return folder


@release
def test_a_search_a_report_and_an_export_with_what_comes_along(environment: Path) -> None:
    program, python = environment / "env/bin/pangaea", environment / "env/bin/python"
    where = run(python, "-c", "import pangaea; print(pangaea.__file__)", cwd=environment)
    assert where.startswith(str(environment))
    assert run(program, "--version", cwd=environment) == f"pangaea {pangaea.__version__}\n"
    small = ("--candidates", "6", "--population", "3", "--budget", "1", "--runs", "0")
    run(program, "search", *small, "--workers", "2", "--no-rerank", cwd=environment)
    assert "6 of 6 candidates" in run(program, "top", "mnist1d.study", cwd=environment)
    run(program, "report", "mnist1d.study", cwd=environment)
    assert "Plotly" in (environment / "report.html").read_text()
    source = run(program, "export", "wrn-1", "--to", "torch", cwd=environment)
    (environment / "wrn.py").write_text(source)
    trained = "import torch, wrn; wrn.Wrn1()(torch.randn(4, 3)).sum().backward(); print('done')"
    assert run(python, "-c", trained, cwd=environment) == "done\n"


@release
def test_nothing_is_installed_that_a_search_does_not_need(environment: Path) -> None:
    python = environment / "env" / "bin" / "python"
    listed = json.loads(run(python, "-m", "pip", "list", "--format=json", cwd=environment))
    names = {package["name"].lower() for package in listed}
    assert "pangaea-search" in names
    unwanted = {"matplotlib", "plotly", "mnist1d", "requests", "pooch", "pytest", "onnx", "pillow"}
    assert not names & unwanted


@release
@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (("show", "relu", "--png", "relu.png"), "pictures"),
        (("report", "mnist1d.study", "--png", "figures"), "pictures"),
        (("export", "relu", "--to", "onnx", "-o", "relu.onnx"), "export"),
        (("search", "--cluster", "slurm"), "cluster"),
    ],
)
def test_what_needs_more_says_which_extra(
    environment: Path, command: tuple[str, ...], extra: str
) -> None:
    python = environment / "env" / "bin" / "python"
    shown = subprocess.run(
        [python, "-m", "pangaea", *command], cwd=environment, capture_output=True, text=True
    )
    assert shown.returncode == 2
    assert f"pip install 'pangaea-search[{extra}]'" in shown.stderr.replace("\n", " ")


@release
def test_wheel_and_sdist_are_whole(dist: Path) -> None:
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    packed = zipfile.ZipFile(wheel)
    names = set(packed.namelist())
    tracked = run("git", "ls-files", "pangaea", cwd=ROOT).splitlines()
    assert {name for name in tracked if not name.endswith(".LICENSE")} <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"pangaea", "pangaea_search"}
    about = f"pangaea_search-{pangaea.__version__}"
    told = message_from_bytes(packed.read(f"{about}.dist-info/METADATA"))
    assert (told["Name"], told["Version"]) == ("pangaea-search", pangaea.__version__)
    with tarfile.open(sdist) as tar:
        assert {f"{about}/{name}" for name in ("tests/test_release.py", "CHANGELOG.md")} <= {
            *tar.getnames()
        }


def test_the_version_is_written_once_and_told_everywhere() -> None:
    assert PROJECT["dynamic"] == ["version"]
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {pangaea.__version__}\n" in cited
    changes = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert changes[0] == pangaea.__version__
    assert changes[-1] == "0.1.0"


def test_the_docs_say_what_each_dependency_and_extra_is_for() -> None:
    text = (ROOT / "docs" / "install.md").read_text()
    needed, extras = text.split("## What only some need")
    rows = re.findall(r"^\| `([\w-]+)` \|", needed, re.MULTILINE)
    assert rows == [re.split(r"[<>=]", line)[0] for line in PROJECT["dependencies"]]
    listed = re.findall(r"`([\w-]+)`", " ".join(re.findall(r"^\| (`.*?) \|", extras, re.MULTILINE)))
    assert {*listed} == {*PROJECT["optional-dependencies"]} | {"docs"}


def test_messages_and_docs_name_our_own_distribution() -> None:
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "pangaea").rglob("*.py")]
    wrong = re.compile(r"pip install '?pangaea(?!-search)")
    assert [path.name for path in files if wrong.search(path.read_text(encoding="utf-8"))] == []


def test_the_public_workflow_runs_what_must_pass_here() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    job = workflow["jobs"]["check"]
    matrix = job["strategy"]["matrix"]
    commands = {*matrix["command"], *(row["command"] for row in matrix["include"])}
    must_pass = set(re.findall(r"^make [\w-]+$", (ROOT / ".ci/run").read_text(), re.MULTILINE))
    assert must_pass <= commands
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {command.removeprefix("make ") for command in commands} <= targets
    assert [step["run"] for step in job["steps"] if "run" in step] == ["${{ matrix.command }}"]
    classified = {line[-4:] for line in PROJECT["classifiers"] if " :: 3." in line}
    assert {*matrix["python"]} == classified
    assert {*matrix["os"]} == {"ubuntu-latest", "macos-latest"}

"""Where a report is written: whole, with the mode that was there, and into what is no file."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pangaea.errors import PangaeaError
from pangaea.report.formats import beside, kind_of, save, write

PROGRAM = "import sys; from pangaea.files import save; from pathlib import Path; "


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("before")
    path.chmod(0o640)
    save(path, "after")
    assert path.read_text() == "after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


def test_what_a_link_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "real.html", tmp_path / "link.html"
    link.symlink_to("folder/real.html")
    for text in ("new", "replaced"):
        save(link, text)
        assert link.is_symlink()
        assert target.read_text() == text


def test_a_pipe_gets_the_report(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    save(pipe, "a report")
    reader.join()
    assert got == ["a report"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_stays_a_device() -> None:
    save(Path("/dev/null"), "a report")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    if not Path("/dev/full").exists():
        pytest.skip("no device here is always full")
    with pytest.raises(PangaeaError, match="cannot write /dev/full: No space left on device"):
        save(Path("/dev/full"), "a report")


@pytest.mark.parametrize(
    "name",
    ["/dev/stdout", "/dev/fd/1", *(["/proc/self/fd/1"] if sys.platform == "linux" else [])],
)
def test_the_standard_output_gets_the_report_wherever_it_goes(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROGRAM + "save(Path(sys.argv[1]), 'a report')", name]
    piped = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert piped.stdout == b"a report"
    log = tmp_path / "log"
    log.write_text("kept, ")
    with log.open("a") as stream:
        subprocess.run(command, stdout=stream, check=True)
    assert log.read_text() == "kept, a report"


def test_a_folder_is_one_sentence(tmp_path: Path, paths: dict[str, Path]) -> None:
    for folder in (tmp_path, Path(), Path("/")):
        with pytest.raises(PangaeaError, match="is a folder: give the name of a file"):
            write([paths["empty"]], folder)


def test_a_links_circle_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(PangaeaError, match="cannot write"):
        save(tmp_path / "a", "a report")


def test_a_searchs_own_page_never_takes_the_place_of_another_file(
    tmp_path: Path, paths: dict[str, Path]
) -> None:
    study = tmp_path / "a.study"
    assert beside(study) == tmp_path / "a.html"
    write([paths["empty"]], tmp_path / "a.html")
    assert beside(study) == tmp_path / "a.html"
    (tmp_path / "a.html").write_text("<p>mine</p>")
    (tmp_path / "a-2.html").symlink_to("nowhere")
    assert beside(study) == tmp_path / "a-3.html"


@pytest.mark.parametrize(("name", "kind"), [("a.md", "md"), ("a", "html"), ("a.HTM", "html")])
def test_a_file_s_ending_says_which_format_it_is(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_an_ending_that_is_no_format_is_refused() -> None:
    with pytest.raises(PangaeaError, match=r"no format \(the ending of a.pdf\) is called 'pdf'"):
        kind_of("a.pdf")

"""The report as a file: whole, self-contained, and safe whatever a study holds."""

import csv
import html.parser
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.functions.parser import parse
from pangaea.report.formats import FORMATS, table_csv, write
from pangaea.report.page import document
from pangaea.report.page.document import embedded
from pangaea.report.records import Snapshot, opened
from pangaea.report.texts import inert
from pangaea.study.study import Study
from tests.report.conftest import HOSTILE, KINDS
from tests.study_maker import forge, make


class Document(html.parser.HTMLParser):
    """What a browser makes of the text, as far as a test asks."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.comments: list[str] = []
        self.inside: dict[str, list[str]] = {}
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = dict(attrs).get("id") or tag

    def handle_data(self, data: str) -> None:
        self.inside.setdefault(self._open, []).append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)

    def data(self) -> Any:
        return json.loads("".join(self.inside["data"]))


@pytest.mark.parametrize("kind", KINDS)
def test_every_study_gets_a_whole_page_that_asks_for_nothing(
    kind: str, paths: dict[str, Path], tmp_path: Path
) -> None:
    text = write([paths[kind]], tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == text
    page = Document(text)
    assert [tag for tag, _ in page.tags].count("script") == 3
    assert not page.comments
    for tag, attributes in page.tags:
        assert "src" not in attributes, tag
        assert (attributes.get("href") or "data:,") == "data:,"
        assert not any(name.startswith("on") for name in attributes)
    assert len(text) < 2_500_000
    (report,) = page.data()["reports"]
    assert report["headline"]["sentence"].rstrip(".") in text


def test_the_page_holds_every_candidate_with_its_text_and_latex(
    study: Snapshot, paths: dict[str, Path]
) -> None:
    (report,) = Document(write([paths["finished"]])).data()["reports"]
    rows = {row[0]: row for row in report["rows"]}
    assert len(rows) == 60
    for wanted in study.table():
        row = rows[wanted["number"]]
        f = parse(wanted["function"])
        assert row[1:3] == [str(f), f.simplified().readable()]
        assert row[3] == (wanted["score"] and pytest.approx(wanted["score"], rel=1e-5))
        assert row[9:] == [f.latex(), 1]
        assert row[7] == wanted["failure"]


def test_plotly_is_there_once_and_only_our_scripts_may_run(paths: dict[str, Path]) -> None:
    text = write([paths["finished"], paths["random"]])
    assert text.count("* plotly.js (basic - minified) v") == 1
    policy = next(
        attributes["content"] or ""
        for tag, attributes in Document(text).tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-\S+' 'sha256-\S+';", policy)
    assert Document(text).data()["studies"] == ["finished", "random"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_setting_or_function_stays_text(text: str, tmp_path: Path) -> None:
    path = tmp_path / (text.replace("/", "∕")[:80] + ".study")
    forge(path, [text])
    written = write([path])
    clean = Document(write([make(tmp_path / "clean.study", 5)]))
    page = Document(written)
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in clean.tags]
    assert not page.comments
    (report,) = page.data()["reports"]
    assert report["path"] == inert(str(path))
    assert report["rows"][0][1:3] == [inert(text), inert(text)]


def test_a_hostile_task_stays_text_in_every_format(tmp_path: Path) -> None:
    path = make(tmp_path / "a.study", 5, task=HOSTILE[2])
    assert HOSTILE[2] not in write([path])
    assert Document(write([path])).data()["reports"][0]["headline"]["facts"]["task"] == HOSTILE[2]
    facts = write([path], kind="md").split("Run it again")[0]
    assert r"\<\/" not in facts
    assert "<script" not in facts.replace(r"\<", "")


def test_json_in_a_page_holds_no_tag_and_reads_back() -> None:
    data = {"a": [*HOSTILE, "\u2028", "&amp;", "\\u003c"]}
    text = embedded(data)
    assert not re.search("[<>&]", text)
    assert json.loads(text) == data


def test_numbers_that_are_not_finite_are_one_sentence(tmp_path: Path) -> None:
    path = make(tmp_path / "a.study", 5, done=3)
    with Study.resume(path) as study, study.transaction():
        study._connection.execute("update results set score = 9e999 where run = 5")
    with pytest.raises(PangaeaError, match="the score of run 5 is inf"):
        write([path])


def test_markdown_has_the_headline_and_the_best(study: Snapshot, paths: dict[str, Path]) -> None:
    text = write([paths["finished"]], kind="md")
    assert text.startswith("# finished\n")
    assert "points better than ReLU's" in text
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("| ")]
    bars = [{len(re.findall(r"(?<!\\)\|", row)) for row in table} for table in tables]
    assert bars == [{6}, {6}, {6}]  # tested, the best, the best at each cost
    for row in study.best(10):
        assert f"| {row['number']} | " in text


def test_csv_has_a_row_for_each_candidate_of_each_study(paths: dict[str, Path]) -> None:
    text = write([paths["finished"], paths["hostile"]], kind="csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 60 + len(HOSTILE)
    assert [row["function"] for row in rows[60:]] == list(map(inert, HOSTILE))
    assert {row["study"] for row in rows} == {"finished", "hostile"}
    assert write([paths["empty"]], kind="csv") == "study,number,function,score\n"


def test_json_is_the_study_as_plain_data(study: Snapshot, paths: dict[str, Path]) -> None:
    (found,) = json.loads(write([paths["finished"]], kind="json"))["studies"]
    assert found["candidates"] == study.table()
    assert found["settings"] == study.settings.as_dict()
    assert found["headline"]["tested"][0]["readable"] == "ReLU"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMATS)
def test_every_study_has_every_format_and_nothing_in_it_is_live(
    form: str, kind: str, paths: dict[str, Path]
) -> None:
    text = write([paths[kind]], kind=form)
    assert all(c.isprintable() or c in "\n\t" for c in text.replace("\ufeff", "")), form


def test_a_page_of_a_loss_has_no_word_of_accuracy(paths: dict[str, Path]) -> None:
    text = json.dumps(Document(write([paths["minimised"]])).data()["reports"])
    for word in ("accuracy", "ReLU", "fitness", "epoch"):
        assert not re.search(rf"\b{word}\b", text), word
    for form in ("md", "csv", "json"):
        assert "accuracy" not in write([paths["minimised"]], kind=form)


def test_markdown_has_the_tested_functions_in_their_final_order(paths: dict[str, Path]) -> None:
    with opened(paths["minimised"]) as study:
        best = [parse(row["function"]).simplified() for row in study.best(3)]
        order = ["GELU", *(function.readable() for function in best)]
    lines = write([paths["minimised"]], kind="md").replace("\\", "").splitlines()
    first = lines.index("| --- | --- | --- | --- | --- |") + 1
    assert [line.split(" | ")[0][2:] for line in lines[first : first + 4]] == order
    assert lines[first - 2].startswith("| tested function | test loss (nats) | p against")


def test_cells_that_a_spreadsheet_would_calculate_are_texts(tmp_path: Path) -> None:
    path = forge(tmp_path / "a.study", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "x"])
    rows = list(csv.DictReader(io.StringIO(write([path], kind="csv"))))
    assert [row["function"] for row in rows] == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'=1", "x"]
    assert all(row["mutation"][0] in "'x" for row in rows)
    assert [float(row["score"]) > 0 for row in rows] == [True] * 6
    assert table_csv([{"a": -1.5, "b": "-x"}]) == "a,b\n-1.5,'-x\n"


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("r.md", "# finished\n"),
        ("r.CSV", "study,number,"),
        ("r.json", '{\n "studies"'),
        ("r.html", "<!doctype html>"),
        ("r", "<!doctype html>"),
    ],
)
def test_the_format_is_what_the_files_name_says(
    name: str, begins: str, paths: dict[str, Path], tmp_path: Path
) -> None:
    write([paths["finished"]], tmp_path / name)
    assert (tmp_path / name).read_text().startswith(begins)
    write([paths["finished"]], tmp_path / name, "md")  # unless somebody says another
    assert (tmp_path / name).read_text().startswith("# finished\n")


def test_a_page_of_very_many_simplifies_the_best(
    study: Snapshot, paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document, "_MANY", 59)
    (report,) = Document(write([paths["finished"]])).data()["reports"]
    best = [row["number"] for row in study.best(10)]
    for number, text, readable, *_ in report["rows"]:
        f = parse(text)
        assert readable == (f.simplified() if number in best else f).readable()


def test_a_format_that_there_is_not_is_named(paths: dict[str, Path]) -> None:
    with pytest.raises(UnknownNameError, match="no format is called 'pdf'"):
        write([paths["finished"]], kind="pdf")


def test_a_report_never_takes_the_place_of_a_study(tmp_path: Path) -> None:
    path = make(tmp_path / "a.study", 5)
    before = path.read_bytes()
    with pytest.raises(PangaeaError, match="is a study, which is not written over"):
        write([path], path)
    assert path.read_bytes() == before


def test_what_cannot_be_opened_or_written_is_one_sentence(
    paths: dict[str, Path], tmp_path: Path
) -> None:
    foreign = tmp_path / "notes.study"
    foreign.write_text("dear diary, " * 200)
    with pytest.raises(PangaeaError, match="is not a study of pangaea"):
        write([foreign])
    with pytest.raises(PangaeaError, match="there is no study at"):
        write([tmp_path / "none.study"])
    with pytest.raises(PangaeaError, match=r"cannot write .*: Not a directory"):
        write([paths["finished"]], foreign / "report.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["notes.study"]
    write([paths["finished"]], tmp_path / "new" / "report.html")
    assert (tmp_path / "new" / "report.html").exists()


def test_a_report_needs_neither_torch_nor_plotlys_python(paths: dict[str, Path]) -> None:
    check = (
        "import sys; from pangaea.report.formats import write; write(sys.argv[1:]);"
        "print(sorted({'torch', 'plotly', 'playwright', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", check, paths["finished"]], capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")

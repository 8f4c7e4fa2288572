"""Results of several machines add up; the same run counts once."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pangaea.errors import PangaeaError
from pangaea.paper import adding, lines
from pangaea.paper.contents import experiment
from pangaea.paper.running import run
from pangaea.paper.standing import found_here
from pangaea.study.driver import search
from pangaea.study.study import Study
from pangaea.workers.judge import Job, Result
from tests.study.driving import REPOSITORY
from tests.study.judges import instant

RESULTS = REPOSITORY / "results"
pytestmark = pytest.mark.usefixtures("unprepared")


def made(path: Path, name: str = "prelu_lcn", runs: int = 1) -> Path:
    run(name, study=path, scale="lab", runs=runs, workers=0, judge=instant)
    return path


def of(path: Path) -> list[lines.Line]:
    with Study.open(path) as study:
        return lines.of_study(study)


def test_a_study_is_added_once(tmp_path: Path) -> None:
    one, other = made(tmp_path / "1.study"), made(tmp_path / "2.study", "pau_specialized_setup")
    assert adding.add([other], one) == adding.Added(2, 0, {})
    assert adding.add([other, one], one) == adding.Added(0, 13, {})
    assert {lines.identity(row) for row in of(other)} < {lines.identity(row) for row in of(one)}


def test_curves_come_with_a_study_and_with_lines_that_hold_them(tmp_path: Path) -> None:
    def curved(job: Job) -> Result:
        return instant(job) | {"curves": {"validation": {"1": float(job.seed)}}}

    one, file = tmp_path / "1.study", tmp_path / "runs.jsonl"
    run("pau_specialized_setup", study=one, scale="lab", workers=0, judge=curved)
    with Study.open(one) as study:
        known = lines.of_study(study, curves=True)
    lines.write(file, known)
    for n, source in enumerate((one, file)):
        adding.add([source], tmp_path / f"of-{n}.study")
        with Study.open(tmp_path / f"of-{n}.study") as study:
            assert lines.of_study(study, curves=True) == known
    assert all(row["curves"]["validation"] == {"1": float(row["seed"])} for row in known)


def test_the_test_of_a_coarse_search_is_of_whole_images(tmp_path: Path) -> None:
    given: dict[str, Any] = {"rounds": "2@15", "candidates": 3, "runs": 1, "tested": 1}
    search(
        "wrn-10-4/cifar100/coarse", study=tmp_path / "1.study", judge=instant, workers=0, **given
    ).close()
    tests = of(tmp_path / "1.study")
    assert {(row["task"], row["budget"]) for row in tests} == {("wrn-10-4/cifar100", 200)}
    assert adding.add([tmp_path / "1.study"], tmp_path / "p.study").added == len(tests) == 2
    with Study.open(tmp_path / "p.study") as study:
        assert {run["task"] for run in study.runs()} == {"wrn-10-4/cifar100"}
        (row,) = found_here(experiment("results"), lines.of_study(study))
    assert row.cell.group == "found by 1"
    others = {"wrn-10-4/cifar100/coarse": 15, "no/net/coarse": 200, "coarse/my.py:task": 200}
    for task, budget in others.items():
        assert lines.line(tests[0] | {"task": task, "budget": budget}, {})["task"] == task


def test_lines_go_out_and_come_back_as_they_were(tmp_path: Path) -> None:
    one, file = made(tmp_path / "1.study"), tmp_path / "runs.jsonl"
    assert lines.write(file, of(one)) == 9
    assert adding.add([file, file], tmp_path / "2.study") == adding.Added(9, 9, {})
    assert of(tmp_path / "2.study") == of(one)


def test_what_was_added_is_not_run_again(tmp_path: Path) -> None:
    one, two = made(tmp_path / "1.study", runs=2), tmp_path / "2.study"
    rows = of(one)
    lines.write(tmp_path / "some.jsonl", rows[9:])  # the second run of every cell
    adding.add([tmp_path / "some.jsonl"], two)
    run("prelu_lcn", study=two, scale="lab", runs=3, workers=0, judge=instant)
    assert len(of(two)) == len({lines.identity(row) for row in of(two)}) == 27
    assert adding.add([one], two) == adding.Added(0, 18, {})


def test_another_recipe_is_another_run(tmp_path: Path) -> None:
    one = made(tmp_path / "1.study")
    row = of(one)[0]
    row["recipe"]["weight_decay"] = 5e-4
    lines.write(tmp_path / "changed.jsonl", [row])
    why = "wrn-10-4/cifar100 with weight_decay 0.0005, which is 0.001 here"
    assert adding.add([tmp_path / "changed.jsonl"], one) == adding.Added(0, 0, {why: 1})


def test_a_recipe_of_a_time_with_fewer_fields_is_the_same(tmp_path: Path) -> None:
    one = made(tmp_path / "1.study")
    row = of(one)[0]
    del row["recipe"]["valid_above"]
    lines.write(tmp_path / "old.jsonl", [row])
    assert adding.add([tmp_path / "old.jsonl"], one) == adding.Added(0, 1, {})


def test_a_last_line_that_was_cut_off_is_no_run(tmp_path: Path) -> None:
    one, file = made(tmp_path / "1.study"), tmp_path / "runs.jsonl"
    lines.write(file, of(one))
    file.write_text(file.read_text()[:-30])
    assert adding.add([file], tmp_path / "2.study").added == 8
    file.write_text("{\n" + file.read_text())
    with pytest.raises(PangaeaError, match="line 1, is not JSON"):
        adding.add([file], tmp_path / "2.study")


def test_the_tests_of_a_search_are_added(tmp_path: Path) -> None:
    from tests.study.making import searched

    searched(tmp_path / "s.study", runs=3)
    became = adding.add([tmp_path / "s.study"], tmp_path / "paper.study")
    assert became.added == 3 * 4  # the best three and the baseline
    assert {row["task"] for row in of(tmp_path / "paper.study")} == {"mnist1d"}


def test_validation_scores_and_unknown_tasks_are_left_out(tmp_path: Path) -> None:
    row = of(made(tmp_path / "1.study"))[0]
    rows = [row | {"part": "validation"}, row | {"task": "wrn-10-4/cifar1000"}]
    lines.write(tmp_path / "odd.jsonl", rows)
    assert adding.add([tmp_path / "odd.jsonl"], tmp_path / "2.study").left_out == {
        "judged on validation data": 1,
        "no task is called wrn-10-4/cifar1000": 1,
    }


def test_a_function_that_nobody_here_can_read_is_left_out(tmp_path: Path) -> None:
    row = of(made(tmp_path / "1.study"))[0] | {"function": "rulu(x)"}
    lines.write(tmp_path / "odd.jsonl", [row])
    became = adding.add([tmp_path / "odd.jsonl"], tmp_path / "2.study")
    assert became == adding.Added(0, 0, {"no function is written rulu(x)": 1})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("3", "it has no fields, but is 3"),
        ('{"function": null}', "its function is None"),
        ('{"task": ["t"]}', r"its task is \['t'\]"),
        ('{"budget": "2"}', "its budget is '2'"),
        ('{"budget": 0}', "its budget is 0"),
        ('{"seed": 1e30}', r"its seed is 1e\+30"),
        ('{"seed": 9223372036854775808}', "its seed is 9223372036854775808"),
        ('{"scope": "planet"}', "its scope is 'planet'"),
        ('{"score": "71.9"}', "its score is '71.9'"),
        ('{"score": NaN}', "its score is nan"),
        ('{"score": null}', "it has neither a score nor a failure"),
        ('{"failure": "diverged"}', "it has neither a score nor a failure, or both"),
        ('{"finished": "2026-11-16"}', "its finished is '2026-11-16'"),
        ('{"values": [1]}', r"its values is \[1\]"),
        ('{"values": {"validation": "70"}}', "its values is"),
        ('{"recipe": "abc"}', "its recipe is 'abc'"),
        ('{"detail": "\\ud800"}', "its detail is"),
    ],
)
def test_a_line_that_is_not_a_run_is_named(tmp_path: Path, text: str, why: str) -> None:
    row = json.loads(text)
    if isinstance(row, dict):
        whole = {"function": "x", "task": "t", "budget": 2, "seed": 1, "part": "test", "score": 1.0}
        row = whole | row
    (tmp_path / "odd.jsonl").write_text(f"\n{json.dumps(row)}\n")
    with pytest.raises(PangaeaError, match=f"odd.jsonl, line 2, is not a run: {why}"):
        adding.add([tmp_path / "odd.jsonl"], tmp_path / "p.study")
    assert not (tmp_path / "p.study").exists()


def test_files_joined_by_cat_hold_every_run_once_however_its_function_is_written(
    tmp_path: Path,
) -> None:
    text = (RESULTS / "paper.jsonl").read_text()
    spelled = text.replace('"relu(x)"', '"relu"')
    usual = r'("function": "(?!prelu").*?), "scope": null'  # PReLU's is another
    spelled = re.sub(usual, r'\1, "scope": "channel"', spelled)
    assert spelled != text
    (tmp_path / "twice.jsonl").write_text(text + spelled)
    assert lines.read(tmp_path / "twice.jsonl") == lines.read(RESULTS / "paper.jsonl")
    for _ in range(2):
        adding.add([tmp_path / "twice.jsonl"], tmp_path / "p.study")
    assert len(of(tmp_path / "p.study")) == len(text.splitlines())


def test_no_line_makes_a_file_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text("raise SystemExit('it was run')")
    row = of(made(tmp_path / "1.study"))[0] | {"task": "evil.py:task"}
    lines.write(tmp_path / "odd.jsonl", [row])
    became = adding.add([tmp_path / "odd.jsonl"], tmp_path / "2.study")
    assert became.left_out == {"no task is called evil.py:task": 1}


def test_a_text_may_hold_any_separator(tmp_path: Path) -> None:
    (row, *_) = of(made(tmp_path / "1.study"))
    row |= {"detail": "one\u2028two\x85three"}
    lines.write(tmp_path / "a.jsonl", [row])
    assert lines.read(tmp_path / "a.jsonl") == [row]


def test_a_run_that_waits_here_has_the_result_that_comes_from_elsewhere(tmp_path: Path) -> None:
    one, other = tmp_path / "1.study", made(tmp_path / "2.study", runs=2)

    def killed(job: Job) -> Result:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("prelu_lcn", study=one, scale="lab", runs=2, workers=0, judge=killed)
    with Study.open(one) as study:
        assert len(study.pending(["paper"])) == 1
    adding.add([other], one)
    with Study.open(one) as study:
        assert study.pending(["paper"]) == []
    run("prelu_lcn", study=one, scale="lab", runs=3, workers=0, judge=instant)
    assert len(of(one)) == len({lines.identity(row) for row in of(one)}) == 27


@pytest.mark.parametrize("name", ["wrn-10-4-relu", "wrn-10-4-a", "resnet-v1-56-short"])
def test_the_published_files_are_in_the_published_lines(tmp_path: Path, name: str) -> None:
    assert adding.add([RESULTS / "paper.jsonl"], tmp_path / "p.study").left_out == {}
    assert adding.add([RESULTS / f"{name}.json"], tmp_path / "p.study").added == 0


def test_every_published_line_says_where_it_comes_from() -> None:
    for text in (RESULTS / "paper.jsonl").read_text().splitlines():
        row = json.loads(text)
        assert None not in (row["command"], row["commit"], row["versions"], row["recipe"])


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    for text in (
        "{}",
        "{",
        "[1]",
        '{"task": "t", "functions": 3}',
        '{"functions": [{"runs": [1]}]}',
    ):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(PangaeaError, match="is no study, no file of runs"):
            adding.add([tmp_path / "a.json"], tmp_path / "p.study")
    with pytest.raises(PangaeaError, match="cannot be read"):
        adding.add([tmp_path / "nothing.study"], tmp_path / "p.study")

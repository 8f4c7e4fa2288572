"""A snapshot: what a study held at one moment, owned, and as one file."""

from pathlib import Path

import pytest

from pangaea.errors import PangaeaError
from pangaea.report.records import alike, opened, snapshot, steps, tag
from pangaea.study.study import Study
from tests.report.conftest import HOSTILE
from tests.study_maker import ACCURACY, LOSS, Maker, forge, make


def test_a_snapshot_answers_like_its_study(paths: dict[str, Path]) -> None:
    for kind in ("finished", "minimised", "several", "earlier"):
        with opened(paths[kind]) as still, Study.open(paths[kind]) as study:
            assert still.table() == study.table()
            assert still.runs() == study.runs()
            assert still.best(20) == study.best(20)
            assert still.best(2) == study.best(2)
            assert still.baseline_score == study.baseline_score
            assert still.failures == study.failures()
            assert still.tag == tag(study)
            run = study.runs("search")[0]["run"]
            assert still.curves(run) == study.curves(run)


def test_what_is_recorded_later_is_not_in_it(tmp_path: Path) -> None:
    with Maker(tmp_path / "a.study", candidates=30) as maker:
        maker.baseline()
        maker.search(10)
        with opened(tmp_path / "a.study") as still:
            before = still.tag
            maker.search(10)
            assert len(still.finished) == len(still.trials) == len(still.runs("search")) == 10
            assert max(row["number"] for row in still.best(10)) <= 10
            assert still.tag == before != tag(maker.study)


def test_everything_is_read_at_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Maker(tmp_path / "a.study", candidates=30) as maker:
        maker.baseline()
        maker.search(5)
        table = Study.table

        def meanwhile(study: Study) -> list[dict[str, object]]:
            maker.search(5)
            return table(study)

        monkeypatch.setattr(Study, "table", meanwhile)
        with opened(tmp_path / "a.study") as still:
            assert len(still.table()) == len(still.runs("search")) == still.last - 3 == 5


def test_a_study_that_was_given_stays_open(paths: dict[str, Path]) -> None:
    with Study.open(paths["finished"]) as study:
        with snapshot(study) as still:
            assert still.finished
        assert study.table()


def test_every_text_of_a_file_is_inert(tmp_path: Path) -> None:
    with opened(forge(tmp_path / "a.study", HOSTILE)) as still:
        texts = [value for row in still.table() for value in row.values() if isinstance(value, str)]
        assert any("\\x1b" in text for text in texts)
        assert all(text.isprintable() for text in texts)


def test_a_candidate_with_a_score_passes_its_threshold_or_none(tmp_path: Path) -> None:
    with opened(make(tmp_path / "a.study", 10, threshold=60.0)) as still:
        for row in still.finished:
            assert still.passes(row) == (row["score"] is not None and row["score"] >= 60)
    with opened(make(tmp_path / "b.study", 10, goal=LOSS, threshold=2.0)) as still:
        for row in still.finished:
            assert still.passes(row) == (row["score"] is not None and row["score"] <= 2)
    with opened(make(tmp_path / "c.study", 10, strategy="random-search", goal=LOSS)) as still:
        assert all(still.passes(row) == (row["score"] is not None) for row in still.finished)
        assert still.population == 50


def test_steps_are_those_that_were_better_than_all_before() -> None:
    rows = [{"score": score} for score in (3.0, None, 2.0, 4.0, 4.0, 1.0)]
    assert [(s.after, s.gain) for s in steps(rows, ACCURACY)] == [(1, 0.0), (4, 1.0)]
    assert [(s.after, s.gain) for s in steps(rows, LOSS)] == [(1, 0.0), (3, 1.0), (6, 1.0)]


def test_scores_of_different_goals_share_no_axis(paths: dict[str, Path]) -> None:
    with (
        opened(paths["finished"]) as a,
        opened(paths["minimised"]) as b,
        opened(paths["random"]) as c,
    ):
        assert alike([a, b, c], a) == [a, c]
        assert alike([a, b, c], b) == [b]


def test_a_number_that_is_none_is_said_with_its_run(tmp_path: Path) -> None:
    path = make(tmp_path / "a.study", 5)
    with Study.resume(path) as study, study.transaction():
        study._connection.execute("update results set seconds = 'long' where run = 4")
    with pytest.raises(PangaeaError, match=r"a\.study is damaged.*the seconds of run 4 is 'long'"):
        opened(path)

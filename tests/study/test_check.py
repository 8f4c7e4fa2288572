"""A large study is read while its values are checked, and believed when they are."""

import sqlite3
import threading
from pathlib import Path

import pytest

from pangaea.errors import PangaeaError
from pangaea.study import file, schema
from pangaea.study.study import Study
from tests.study_maker import make


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(file, "_SMALL", 0)
    return make(tmp_path / "a.study", 20, population=4, sample=2)


def test_what_is_read_meanwhile_is_given_away_when_all_was_checked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, may_end, events = schema.check_values, threading.Event(), []

    def slow(*given: object) -> None:
        if len(given) == 2:  # all tables
            may_end.wait(60)
            events.append("checked")
        check(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(schema, "check_values", slow)
    with Study.open(path) as study:
        assert study.settings.candidates == 20  # settings were checked before
        threading.Timer(0.2, may_end.set).start()
        trials = study.trials()
        events.append("read")
    assert len(trials) == 20
    assert events == ["checked", "read"]


def test_a_wrong_value_is_said_whatever_is_asked_first(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("update results set score = 'good' where run = 5")
    connection.close()
    asked = (Study.trials, Study.table, Study.runs, Study.best, lambda study: study.last)
    for ask in asked:
        with Study.open(path) as study:
            for _ in range(2):  # and again
                with pytest.raises(PangaeaError, match=r"damaged.*the score of run 5 is 'good'"):
                    ask(study)


def test_a_study_that_is_closed_at_once_leaves_no_thread(path: Path) -> None:
    before = threading.active_count()
    for _ in range(20):
        Study.open(path).close()
    assert threading.active_count() == before


def test_a_wrong_study_is_not_gone_on_with(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("update runs set budget = -1 where run = 5")
    connection.close()
    with pytest.raises(PangaeaError, match="the budget of run 5 is -1"):
        Study.resume(path)
    assert [file.name for file in path.parent.iterdir()] == ["a.study"]

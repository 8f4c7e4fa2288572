"""Settings: each task's defaults, a file, what is given; and every mistake is one sentence."""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.evolution.strategies import STRATEGIES
from pangaea.study.settings import SCOPES, Settings, defaults, settings, toml
from pangaea.training.tasks import tasks

chosen = st.builds(
    Settings,
    task=st.sampled_from([*tasks(), 'it\'s a "task"']),
    strategy=st.sampled_from([*STRATEGIES]),
    candidates=st.integers(1, 10**9),
    population=st.integers(1, 10**6),
    sample=st.integers(1, 10**6),
    threshold=st.floats(0, 100),
    scope=st.none() | st.sampled_from(SCOPES),
    epochs=st.none() | st.integers(1, 10**6),
    seed=st.integers(0, 2**63 - 1),
    timeout=st.none() | st.floats(1e-300, 1e300),
    rerank=st.booleans(),
    runs=st.integers(0, 10**6),
)


def test_the_default_task_is_small_and_the_others_are_the_papers() -> None:
    small = defaults()
    assert (small.task, small.candidates, small.population, small.sample, small.threshold) == (
        *("mnist1d", 200, 20, 5),
        20.0,
    )
    for task in tasks():
        if task != "mnist1d":
            found = defaults(task)
            assert (found.candidates, found.population, found.sample) == (1000, 64, 16)
            assert (found.threshold, found.rerank, found.runs) == (20.0, True, 10)


def test_what_is_given_goes_before_the_file_and_the_file_before_the_defaults(
    tmp_path: Path,
) -> None:
    file = tmp_path / "s.toml"
    file.write_text('task = "wrn-10-4/cifar100"\ncandidates = 7\npopulation = 3\n')
    found = settings({"population": 5, "sample": None, "seed": 9}, file)
    assert found == replace(
        defaults("wrn-10-4/cifar100"), candidates=7, population=5, seed=9, sample=16
    )


def test_a_task_that_is_given_brings_its_own_defaults(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('task = "wrn-10-4/cifar100"\nseed = 4\n')
    assert settings({"task": "mnist1d"}, file) == replace(defaults("mnist1d"), seed=4)
    assert settings({}) == defaults()


@given(chosen)
def test_settings_survive_their_own_toml(said: Settings) -> None:
    assert Settings(**tomllib.loads(toml(said))) == said


@given(chosen)
def test_settings_survive_their_own_dict(said: Settings) -> None:
    assert Settings(**said.as_dict()) == said


def test_a_whole_number_will_do_for_a_number() -> None:
    found = settings({"threshold": 30, "timeout": 5})
    assert (type(found.threshold), found.threshold) == (float, 30.0)
    assert (type(found.timeout), found.timeout) == (float, 5.0)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"candidates": 0}, "candidates must be at least 1, got 0"),
        ({"candidates": "many"}, "candidates must be a whole number, got 'many'"),
        ({"candidates": 2.5}, "candidates must be a whole number, got 2.5"),
        ({"candidates": True}, "candidates must be a whole number, got True"),
        ({"population": 0}, "population and sample are at least 1"),
        ({"sample": -3}, "population and sample are at least 1"),
        ({"threshold": 100.5}, "the threshold lies in 0…100"),
        ({"threshold": float("nan")}, "the threshold lies in 0…100"),
        ({"threshold": "20%"}, "threshold must be a number, got '20%'"),
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"epochs": "ten"}, "epochs must be a whole number, got 'ten'"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"timeout": 0}, "timeout must be above 0 seconds, got 0.0"),
        ({"timeout": float("nan")}, "timeout must be above 0 seconds, got nan"),
        ({"timeout": "5 minutes"}, "timeout must be a number, got '5 minutes'"),
        ({"runs": -1}, "runs must be at least 0, got -1"),
        ({"rerank": 1}, "rerank must be true or false, got 1"),
        ({"task": 3}, "task must be a text, got 3"),
        ({"scope": 3}, "scope must be a text, got 3"),
        ({"strategy": ["evolution"]}, "strategy must be a text"),
        ({"strategy": "evolutoin"}, "no strategy is called 'evolutoin'; did you mean evolution?"),
        ({"scope": "chanel"}, "no scope is called 'chanel'; did you mean channel?"),
        ({"canditates": 3}, "no setting is called 'canditates'; did you mean candidates?"),
    ],
    ids=str,
)
def test_a_mistake_is_one_sentence(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PangaeaError) as caught:
        settings(said)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_mistakes_in_a_file_are_the_same_sentences(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text("candidates = 0")
    with pytest.raises(PangaeaError, match="candidates must be at least 1, got 0"):
        settings({}, file)
    file.write_text("candidats = 10")
    with pytest.raises(UnknownNameError, match="did you mean candidates"):
        settings({}, file)
    file.write_text("[search]\ncandidates = 10")
    with pytest.raises(UnknownNameError, match="no setting is called 'search'"):
        settings({}, file)


@pytest.mark.parametrize("content", [b"candidates: 3", b"candidates = ", b"\xff\xfe", b"\x00"])
def test_a_file_that_is_not_toml_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(content)
    with pytest.raises(PangaeaError, match=r"the settings file .*s\.toml is not TOML") as caught:
        settings({}, file)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for place, why in ((tmp_path / "none.toml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(PangaeaError, match=f"cannot be read: {why}"):
            settings({}, place)

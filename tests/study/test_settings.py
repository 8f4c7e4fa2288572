"""Settings: declared once, a task's defaults, a file, what is given; a mistake is one sentence."""

import time
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pangaea as pg
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.evolution.strategies import strategies
from pangaea.functions.space import PRESETS
from pangaea.settings import Declaration, declarations
from pangaea.study.driver import chosen_settings
from pangaea.study.settings import SCOPES, Settings, flat, known, possible, read, settings, toml
from pangaea.tasks import classification
from pangaea.training.how import PRECISIONS, How
from pangaea.workers.place import Place
from tests.study.making import ACCURACY, LOSS

EVOLUTION = ("evolution", "nonparametric", "thrifty")
tuning = st.fixed_dictionaries(
    {},
    optional={
        "population": st.integers(1, 100_000),
        "sample": st.integers(1, 10_000),
        "threshold": st.floats(allow_nan=False, allow_infinity=False),
    },
)
plain = st.fixed_dictionaries(
    {
        "task": st.sampled_from([*pg.tasks(), 'C:\\my "own" task\'s\n.py:task']),
        "candidates": st.integers(1, 10**7),
        "preset": st.sampled_from([*PRESETS]),
        "scope": st.none() | st.sampled_from(SCOPES),
        "budget": st.none() | st.integers(1, 10**6),
        "seed": st.integers(0, 2**63 - 1),
        "timeout": st.none() | st.floats(1e-300, 1e9),
        "precision": st.none() | st.sampled_from(PRECISIONS),
        "exclude": st.none() | st.just("bessel_i0e, bessel_i1e"),
        "rerank": st.booleans(),
        "runs": st.integers(0, 100_000),
    }
)
chosen = st.builds(
    lambda common, strategy, more: flat(
        common | {"strategy": strategy} | (more if strategy in EVOLUTION else {})
    ),
    plain,
    st.sampled_from([*strategies()]),
    tuning,
)
EVERY: list[tuple[type, Declaration]] = [
    (owner, declared)
    for owner in (
        Settings,
        Place,
        How,
        *dict.fromkeys(one.settings for one in strategies().values()),
    )
    for declared in declarations(owner)
]


def defaults(name: str = "mnist1d", **given: Any) -> Settings:
    return settings({"task": name} | given, pg.task(name))


# One declaration.


@pytest.mark.parametrize(("owner", "declared"), EVERY, ids=lambda value: getattr(value, "name", ""))
def test_every_setting_says_what_it_means_and_has_a_default_that_is_allowed(
    owner: type, declared: Declaration
) -> None:
    assert declared.help.endswith(".")
    assert declared.explained.startswith(declared.help)
    assert declared.option == "--" + declared.name.replace("_", "-")
    assert getattr(owner(), declared.name) == declared.default


def test_every_field_is_declared_but_what_is_made_of_others() -> None:
    for owner, others in ((Settings, {"tuning"}), (Place, set()), (How, {"passing", "keep_model"})):
        assert {f.name for f in fields(owner)} - {d.name for d in declarations(owner)} == others
    for strategy in strategies().values():
        own = {d.name for d in declarations(strategy.settings)}
        assert {f.name for f in fields(strategy.settings)} - own == {"space", "dearest", "longest"}
        assert own.isdisjoint(d.name for d in declarations(Settings))


def test_every_strategy_says_what_it_is_and_what_it_can_be_told() -> None:
    own = {name: {d.name for d in declarations(s.settings)} for name, s in strategies().items()}
    assert own == {
        "evolution": {"population", "sample", "threshold"},
        "nonparametric": {"population", "sample", "threshold"},
        "thrifty": {"population", "sample", "threshold"},
        "choosy": {"population", "sample", "threshold", "children", "unscreened", "rungs"},
        "random-search": set(),
        "random-sampling": set(),
    }
    assert all(strategy.about.endswith(".") for strategy in strategies().values())


# Defaults, a file, what is given.


def test_the_default_task_is_small_and_the_others_are_the_papers() -> None:
    small = defaults()
    assert (small.task, small.strategy, small.candidates) == ("mnist1d", "choosy", 120)
    assert (small.get("population"), small.get("sample")) == (20, 5)
    for task in classification.names():
        if task != "mnist1d":
            paper = defaults(task)
            assert (paper.strategy, paper.candidates) == ("evolution", 1000)
            assert (paper.get("population"), paper.get("sample")) == (64, 16)
            assert (paper.rerank, paper.runs) == (True, 10)
            assert paper.oriented(pg.task(task).goal).threshold == 20.0  # type: ignore[attr-defined]


def test_what_is_given_goes_before_the_file_and_the_file_before_the_defaults(
    tmp_path: Path,
) -> None:
    file = tmp_path / "s.toml"
    file.write_text('task = "wrn-10-4/cifar100"\ncandidates = 7\npopulation = 3\n')
    task, both = chosen_settings(None, {"population": 5, "sample": None, "seed": 9}, file)
    assert task.name == "wrn-10-4/cifar100"
    assert both == defaults(task.name, candidates=7, population=5, seed=9, sample=16)


def test_a_task_that_is_given_brings_its_own_defaults(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text('task = "wrn-10-4/cifar100"\nseed = 4\n')
    _, small = chosen_settings("mnist1d", {}, file)
    assert small == replace(defaults("mnist1d"), seed=4)
    assert chosen_settings(None, {})[1] == defaults()


def test_a_strategy_that_knows_no_population_does_without_the_task_s_default() -> None:
    blind = defaults(strategy="random-search")
    assert (blind.strategy, blind.candidates, blind.get("population")) == (
        *("random-search", 120),
        None,
    )


def test_a_strategy_brings_defaults_that_task_and_person_may_change() -> None:
    assert (defaults().seeds, defaults().rounds) == ("common", "16,8,4,4,2,2,2,2")
    paper = defaults(strategy="evolution")
    assert (paper.seeds, paper.rounds, paper.again) == (
        *("own", "10,10"),
        ((10, None), (10, None)),
    )
    assert defaults(seeds="own", rounds=[4, 2]).again == ((4, None), (2, None))
    assert defaults(rounds="8@5, 8@10,2").again == ((8, 5), (8, 10), (2, None))


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "0", "3,4", "3,,2", "-1", "2,0", "1.5", "five", "²", "1001", "3@", "@5", "3@5@5"),
        *("3@0", "3@-1", "3@1e3", "4@50,2@40", "4,2@40", "9" * 4000, "3@" + "9" * 4000),
    ],
)
def test_rounds_are_numbers_that_do_not_rise(wrong: str) -> None:
    with pytest.raises(PangaeaError, match=f"none larger .* got {wrong[:60]!r}"):
        flat({"rounds": wrong})
    with pytest.raises(PangaeaError, match="numbers from 1 to 1000"):
        flat({"rounds": "1," * 1500 + "1"})


def test_a_round_has_no_larger_budget_than_the_full_one() -> None:
    assert defaults(rounds="8@40,2").again == ((8, 40), (2, None))
    with pytest.raises(PangaeaError, match="mnist1d trains for 40 epochs at most, got 41"):
        defaults(rounds="8@41,2")


def test_a_search_begins_with_no_larger_budget_than_the_full_one_but_goes_on_with_it() -> None:
    assert defaults(budget=40).budget == 40
    with pytest.raises(PangaeaError, match="budget: mnist1d trains for 40 epochs at most, got 41"):
        defaults(budget=41)
    begun_before = flat({"budget": 41})
    assert possible(begun_before, pg.task("mnist1d")) is begun_before


def test_a_file_of_another_strategy_gives_what_this_one_has_and_was_not_that_one_s_own(
    tmp_path: Path,
) -> None:
    file = tmp_path / "choosy.toml"
    file.write_text(toml(defaults(strategy="choosy", sample=3)))
    asked = chosen_settings(None, {"strategy": "thrifty"}, file)[1]
    assert asked == defaults(strategy="thrifty", sample=3)
    assert (asked.seeds, asked.rounds) == ("own", "10,10")


def test_a_setting_has_its_former_name_too(tmp_path: Path) -> None:
    assert defaults(epochs=3) == defaults(budget=3) != defaults()
    assert flat({"epochs": 3}).budget == 3
    file = tmp_path / "s.toml"
    file.write_text("epochs = 3\n")
    assert chosen_settings(None, {}, file)[1].budget == 3
    assert chosen_settings(None, {"budget": 4}, file)[1].budget == 4
    assert "epochs" not in toml(flat({"epochs": 3}))


@given(chosen)
def test_settings_survive_their_own_toml(told: Settings) -> None:
    assert flat(tomllib.loads(toml(told))) == told


@given(chosen)
def test_settings_survive_their_own_dict(told: Settings) -> None:
    assert flat(told.as_dict()) == told


def test_a_settings_file_names_every_setting(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(toml(defaults()))
    assert flat(read(file)) == defaults()
    for name in known("thrifty"):
        assert any(
            line.startswith((f"{name} =", f"# {name} =")) for line in toml(defaults()).splitlines()
        )


def test_the_space_is_what_its_settings_say() -> None:
    assert flat({}).tuning.space == PRESETS["paper"]
    small = flat({"preset": "cheap", "exclude": "selu", "strategy": "random-sampling"}).tuning.space
    assert small == PRESETS["cheap"].without(["selu"])
    assert flat({"operators": "relu,tanh,mul"}).tuning.space.operators == ("tanh", "relu", "mul")


def test_thresholds_are_in_the_goal_s_terms_and_turned_round_for_the_strategy() -> None:
    def threshold(goal: pg.Goal, **more: Any) -> float | None:
        value: float | None = flat(more).oriented(goal).threshold  # type: ignore[attr-defined]
        return value

    assert threshold(ACCURACY) == 20.0
    assert threshold(ACCURACY, threshold=-3) == -3.0
    assert threshold(LOSS) is None
    assert threshold(LOSS, threshold=0.5) == -0.5
    assert threshold(replace(LOSS, threshold=0.7)) == -0.7
    assert flat({"threshold": 0.5}).get("threshold") == 0.5


def test_a_list_will_do_for_several_names() -> None:
    told = flat(
        {"operators": ["relu", "tanh", "mul"], "against": ["swish", pg.parse("max(x, -x)")]}
    )
    assert told.operators == "relu,tanh,mul"
    assert told.further == ("swish(x)", "max(x, negative(x))")
    assert flat({}).further == ()


def test_a_function_to_be_tested_that_is_none_is_said_at_once() -> None:
    with pytest.raises(PangaeaError, match="did you mean swish"):
        flat({"against": "gelu,swishh"})


def test_a_warm_start_is_of_functions_that_can_breed() -> None:
    assert [*map(str, flat({"start": "swish, mul(x, tanh(x))"}).given)] == [
        "swish(x)",
        "mul(x, tanh(x))",
    ]
    assert flat({}).given == ()
    with pytest.raises(PangaeaError, match="did you mean swish"):
        flat({"start": "swishh"})
    with pytest.raises(pg.ParseError, match="learnable baseline"):
        flat({"start": "prelu"})
    with pytest.raises(PangaeaError, match=r"swish\(x\) is not a function of the space s1"):
        flat({"start": "swish", "preset": "s1"})


def test_a_whole_number_will_do_for_a_number() -> None:
    told = defaults(threshold=30, timeout=5)
    assert (type(told.get("threshold")), told.get("threshold")) == (float, 30.0)
    assert (type(told.timeout), told.timeout) == (float, 5.0)


# Mistakes.


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"candidates": 0}, "candidates must be at least 1, got 0"),
        ({"candidates": "many"}, "candidates must be a whole number, got 'many'"),
        ({"candidates": 2.5}, "candidates must be a whole number, got 2.5"),
        ({"candidates": True}, "candidates must be a whole number, got True"),
        ({"candidates": 10**8}, "candidates must be at most 10000000, got 100000000"),
        ({"candidates": 10**9999}, "at most 10000000, got a number with thousands of digits"),
        ({"population": 0}, "population must be at least 1, got 0"),
        ({"population": 10**6}, "population must be at most 100000, got 1000000"),
        ({"sample": -3}, "sample must be at least 1, got -3"),
        ({"threshold": float("inf")}, "threshold must be a finite number, got inf"),
        ({"threshold": 10**400}, "threshold must be a finite number, got inf"),
        ({"threshold": "high"}, "threshold must be a number, got 'high'"),
        ({"threshold": "x" * 900}, "threshold must be a number, got 'xxx"),
        ({"budget": 0}, "budget must be at least 1, got 0"),
        ({"epochs": 0}, "budget must be at least 1, got 0"),
        ({"epochs": "ten"}, "budget must be a whole number, got 'ten'"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"timeout": 0}, "timeout must be above 0, got 0.0"),
        ({"timeout": float("nan")}, "timeout must be a finite number, got nan"),
        ({"timeout": float("inf")}, "timeout must be a finite number, got inf"),
        ({"timeout": 1e10}, "timeout must be at most 1000000000.0, got 10000000000.0"),
        ({"timeout": "5 minutes"}, "timeout must be a number, got '5 minutes'"),
        ({"runs": -1}, "runs must be at least 0, got -1"),
        ({"rerank": 1}, "rerank must be true or false, got 1"),
        ({"task": 3}, "task must be a text, got 3"),
        ({"scope": 3}, "scope must be a text, got 3"),
        ({"strategy": ["evolution"]}, "strategy must be a text, got ['evolution']"),
        ({"strategy": "evolutoin"}, "no strategy is called 'evolutoin'; did you mean evolution"),
        ({"scope": "chanel"}, "no scope is called 'chanel'; did you mean channel"),
        ({"precision": "fp16"}, "no precision is called 'fp16'; did you mean bf16, fp32"),
        ({"preset": "papper"}, "no preset is called 'papper'; did you mean paper"),
        ({"operators": "relu,tan"}, "no operator is called 'tan'; did you mean"),
        ({"exclude": "realu"}, "no operator is called 'realu'; did you mean relu"),
        ({"canditates": 3}, "no setting is called 'canditates'; did you mean candidates"),
        (
            {"strategy": "random-search", "population": 5},
            "the strategy random-search has no setting population; it has none of its own",
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_mistake_is_one_sentence(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PangaeaError) as caught:
        settings(said, pg.task("mnist1d"))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_mistakes_in_a_file_are_the_same_sentences(tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    for content, sentence in (
        ("candidates = 0", "candidates must be at least 1, got 0"),
        ("candidats = 10", "did you mean candidates"),
        ("[search]\ncandidates = 10", "no setting is called 'search'"),
        ("threshold = inf", "threshold must be a finite number"),
        ("timeout = nan", "timeout must be a finite number"),
        ("strategy = 'random-sampling'\nsample = 3", "random-sampling has no setting sample"),
        ("task = 3", "a task is a name such as mnist1d, got int"),
    ):
        file.write_text(content)
        with pytest.raises(PangaeaError, match=sentence):
            chosen_settings(None, {}, file)


@pytest.mark.parametrize("content", [b"candidates: 3", b"candidates = ", b"\xff\xfe", b"\x00"])
def test_a_file_that_is_not_toml_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "s.toml"
    file.write_bytes(content)
    with pytest.raises(PangaeaError, match=r"the settings file .*s\.toml is not TOML") as caught:
        read(file)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for place, why in ((tmp_path / "none.toml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(PangaeaError, match=f"cannot be read: {why}"):
            read(place)


def test_an_unknown_setting_is_answered_with_those_of_its_strategy() -> None:
    with pytest.raises(UnknownNameError) as caught:
        flat({"strategy": "random-search", "populaton": 3})
    assert "population" not in str(caught.value).split("did you mean")[1]


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"workers": -1}, "workers must be at least 0, got -1"),
        ({"workers": "two"}, "workers must be a whole number, got 'two'"),
        ({"workers": 10**6}, "workers must be at most 100000"),
        ({"jobs_per_gpu": 0}, "jobs_per_gpu must be at least 1, got 0"),
        ({"gpus": 0}, "gpus must be a text, got 0"),
        ({"cluster": ["slurm"]}, "cluster must be a text"),
    ],
)
def test_an_impossible_place_is_a_sentence(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PangaeaError, match=sentence):
        Place(**said)


@pytest.mark.parametrize(
    "text",
    [
        "sample = " + "[" * 20_000,
        "sample = " + "{a=" * 1000,
        "seed = " + "9" * 5000,
        "a" + ".a" * 15_000 + " = 1",
        "\n".join(f"a{i} = 1" for i in range(100_000)),
        "\0\x1b[31m",
    ],
    ids=["lists", "tables", "digits", "parts", "lines", "escape"],
)
def test_a_strangers_settings_file_is_one_sentence_and_soon(tmp_path: Path, text: str) -> None:
    file = tmp_path / "s.toml"
    file.write_text(text)
    began = time.process_time()
    with pytest.raises(PangaeaError, match=r"s\.toml") as caught:
        read(file)
    assert time.process_time() - began < 2
    assert "\n" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_name_of_millions_is_no_setting_and_takes_no_time() -> None:
    began = time.process_time()
    for wrong in ({"x" * 10**7: 1}, {"strategy": "x" * 10**7}, {"operators": "x" * 10**7}):
        with pytest.raises(PangaeaError) as caught:
            flat(wrong)
        assert len(str(caught.value)) < 300
    assert time.process_time() - began < 2

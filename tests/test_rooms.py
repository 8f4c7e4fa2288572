"""A data set, a network, a task, a strategy, an export: one file each, and no other edit."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from textwrap import dedent

import pytest

import pangaea as pg
from pangaea.data.sets import data_sets
from pangaea.errors import PangaeaError
from pangaea.evolution.strategies import strategies
from pangaea.networks import networks
from pangaea.study.settings import flat, known, toml
from pangaea.tasks import overview
from tests.rooms import extended
from tests.study.driving import REPOSITORY
from tests.study.judges import instant

Add = Callable[[str, str, str], None]


@pytest.fixture
def add(tmp_path: Path) -> Iterator[Add]:
    """Adds a file to a package, until the test ends."""
    with ExitStack() as stack:

        def write(package: str, name: str, source: str) -> None:
            folder = tmp_path / package
            folder.mkdir(exist_ok=True)
            (folder / f"{name}.py").write_text(dedent(source))
            stack.enter_context(extended(package, folder))

        yield write


DATA_SET = '''
    """Signals that rise or fall, in some noise."""

    import numpy as np

    from pangaea.data.sets import Arrays, DataSet


    def load() -> Arrays:
        rng = np.random.default_rng(0)

        def draw(count):
            labels = np.arange(count) % 2
            slopes = np.where(labels, 1.0, -1.0)[:, None, None] * np.linspace(-1, 1, 40)
            noisy = slopes + 0.3 * rng.standard_normal((count, 1, 40))
            return noisy.astype(np.float32), labels.astype(np.int64)

        return Arrays(train=draw(400), validation=draw(200), test=draw(200))


    SLOPES = DataSet(
        name="slopes",
        classes=2,
        shape=(1, 40),
        sizes=(400, 200, 200),
        validation_per_class=None,
        load=load,
    )
'''

NETWORK = '''
    """One hidden layer."""

    from torch import nn

    from pangaea.networks.layers import named


    @named("one-layer-(\\\\d+)", "one-layer-32", recipe="small-cnn", axes=("channels", "length"))
    def one_layer(width, activation, *, classes, shape):
        channels, length = shape
        first = nn.Linear(channels * length, width)
        return nn.Sequential(nn.Flatten(), first, activation((width,)), nn.Linear(width, classes))
'''

TASK = '''
    """How far a function is from x² at a few points: nothing is trained."""

    from pangaea.functions.parser import parse
    from pangaea.tasks.goal import minimize
    from pangaea.tasks.task import Task
    from pangaea.training.result import TrainingResult


    class Parabola(Task):
        name = "parabola"
        goal = minimize("distance", threshold=50)
        baseline = "relu(x)"
        budgets = {"search": 1, "full": 2}
        unit = "looks"

        def train(self, function, scope, budget, seed, part, tell, how):
            known = parse(function)
            return TrainingResult(
                task=self.name, function=function, scope=scope, budget=budget, seed=seed, part=part,
                score=sum(abs(known(x) - x * x) for x in (-2.0, -1.0, 0.5, 3.0)),
            )


    def names():
        return ("parabola",)


    def find(name):
        return Parabola() if name == "parabola" else None
'''

STRATEGY = '''
    """Random functions, each of them tried several times."""

    from dataclasses import dataclass

    from pangaea.evolution import strategies
    from pangaea.evolution.creation import initial, parameterized
    from pangaea.evolution.trials import Again, Proposal
    from pangaea.settings import setting


    @dataclass(frozen=True, kw_only=True)
    class Settings(strategies.Settings):
        times: int = setting(2, "How often each is tried.", least=1)


    def propose(trials, rng, settings):
        if trials and len(trials[-1].runs) < settings.times:
            return Again(trials[-1].number, budget=1)
        return Proposal(parameterized(initial(rng, settings.space), rng, settings.space), None, "")
'''


def test_a_data_set(add: Add) -> None:
    add("pangaea.data", "slopes", DATA_SET)
    assert "slopes" in data_sets()
    assert "small-cnn/slopes" in pg.tasks()
    assert "wrn-10-4/slopes" not in pg.tasks()  # which takes images
    assert pg.task("small-cnn/slopes").goal.failure == 50.0
    evaluation = pg.evaluate("relu", task="small-cnn/slopes", runs=1, epochs=2, data="test")
    assert evaluation.mean is not None
    assert evaluation.mean > 90


def test_a_network(add: Add) -> None:
    add("pangaea.networks", "one_layer", NETWORK)
    assert "one-layer-32" in networks()
    assert "one-layer-32/mnist1d" in pg.tasks()
    assert "one-layer-32/cifar10" not in pg.tasks()
    task = pg.task("one-layer-8/mnist1d")
    assert task.parameters == 40 * 8 + 8 + 8 * 10 + 10  # type: ignore[attr-defined]
    result = pg.train("one-layer-8/mnist1d", "alpha*tanh(x)", epochs=1)
    assert result.score is not None
    assert result.score > 12


def test_a_data_set_and_a_network_find_each_other(add: Add) -> None:
    add("pangaea.data", "slopes", DATA_SET)
    add("pangaea.networks", "one_layer", NETWORK)
    assert {"one-layer-32/slopes", "small-cnn/slopes", "one-layer-32/mnist1d"} <= {*pg.tasks()}
    result = pg.train("one-layer-4/slopes", "tanh", epochs=2)
    assert result.score is not None
    assert result.score > 90


def test_a_task(add: Add, path: Path) -> None:
    add("pangaea.tasks", "a_parabola", TASK)
    assert pg.tasks()[0] == "mnist1d"
    assert "parabola" in pg.tasks()
    assert "parabola" in [row["task"] for row in overview.rows()]
    given = {"candidates": 40, "population": 5, "sample": 3, "runs": 2}
    with pg.search("parabola", study=path, workers=0, **given) as study:
        assert study.task["unit"] == "looks"
        scores = [row["score"] for row in study.table() if row["score"] is not None]
        assert study.best(1)[0]["score"] == min(scores)
        assert study.best(1)[0]["score"] < study.baseline_score
        assert {(run["stage"], run["budget"]) for run in study.runs()} == {
            *{("baseline", 1), ("search", 1)},
            *{("rerank", 2), ("test", 2)},
        }


def test_a_strategy(add: Add, path: Path) -> None:
    add("pangaea.evolution.strategies", "many_times", STRATEGY)
    assert strategies()["many-times"].about == "Random functions, each of them tried several times."
    assert known("many-times")["times"].help == "How often each is tried."
    assert flat({"strategy": "many-times"}).get("times") == 2
    assert "times = 3\n" in toml(flat({"strategy": "many-times", "times": 3}))
    with pytest.raises(PangaeaError, match="times must be at least 1, got 0"):
        flat({"strategy": "many-times", "times": 0})
    with pytest.raises(PangaeaError, match="the strategy evolution has no setting times"):
        flat({"strategy": "evolution", "times": 3})
    given = {"strategy": "many-times", "times": 3, "candidates": 9, "runs": 0, "rerank": False}
    with pg.search("mnist1d", study=path, workers=0, judge=instant, **given) as study:
        assert [row["runs"] for row in study.table()] == [3, 3, 3]


HELP = """
import sys
from pathlib import Path
from tests.rooms import extend
extend("pangaea.evolution.strategies", Path(sys.argv[1]))
from pangaea.cli import main
sys.argv = ["pangaea", "search", "--help"]
main()
"""


def test_a_strategy_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "many_times.py").write_text(dedent(STRATEGY))
    shown = subprocess.run(
        [sys.executable, "-c", HELP, tmp_path],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "--times" in shown.stdout, shown.stderr
    assert "How often each is tried." in shown.stdout
    assert "many-times" in shown.stdout


def test_what_was_added_is_gone_when_its_file_is(tmp_path: Path) -> None:
    """Or the tests above would change those that come after them."""
    before = (strategies(), networks(), {*data_sets()}, pg.tasks())
    for package, source in (
        ("pangaea.data", DATA_SET),
        ("pangaea.networks", NETWORK),
        ("pangaea.tasks", TASK),
        ("pangaea.evolution.strategies", STRATEGY),
    ):
        folder = tmp_path / package
        folder.mkdir()
        (folder / "new.py").write_text(dedent(source))
        with extended(package, folder):
            assert (strategies(), networks(), {*data_sets()}, pg.tasks()) != before
        assert (strategies(), networks(), {*data_sets()}, pg.tasks()) == before


def test_an_export(add: Add) -> None:
    add(
        "pangaea.export.targets",
        "shout",
        """
        def export(request):
            return request.function.readable().upper() + "!"
        """,
    )
    assert pg.export("tanh(x)", to="shout") == "TANH(X)!"

"""A task of one's own: how its training function is called, and what becomes of what it returns."""

import math
import pickle
import random
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import pangaea as pg
from pangaea.errors import PangaeaError, UserCodeError
from pangaea.tasks.own import Maker, OwnTask
from pangaea.training.how import How
from pangaea.training.result import TrainingResult

GOAL = pg.minimize("error")
BUDGETS = {"search": 1, "full": 3}


def task(train: Callable[..., Any], **more: Any) -> OwnTask:
    return pg.Task("mine", train, **{"goal": GOAL, "budgets": BUDGETS} | more)


def trained(on: OwnTask, function: str = "relu(x)", **changes: Any) -> TrainingResult:
    given = {"scope": None, "budget": 1, "seed": 5, "part": "validation", "how": How()} | changes
    return on.train(function, tell=changes.pop("tell", lambda share: None), **given)


def returning(answer: Any, **changes: Any) -> TrainingResult:
    return trained(task(lambda activation, budget, seed: answer), **changes)


# How it is called.


def test_it_is_called_by_name_in_whatever_order_with_what_it_has_parameters_for() -> None:
    calls = []

    def train(seed: int, part: str, budget: int, activation: Any, device: Any, scope: Any) -> float:
        calls.append((seed, part, budget, activation.function, device, scope))
        return 1.0

    trained(task(train), "tanh(x)", scope="layer", budget=2, part="test")
    assert calls == [(5, "test", 2, "tanh(x)", torch.device("cpu"), "layer")]


def test_all_that_is_offered_goes_into_keywords() -> None:
    names: set[str] = set()

    def train(**given: Any) -> float:
        names.update(given)
        return 0.0

    trained(task(train))
    assert names == {"activation", "budget", "seed", "part", "tell", "how", "device", "scope"}


def test_partials_and_objects_will_do() -> None:
    class Training:
        def __call__(self, activation: Any, budget: int, seed: int, scale: float = 2.0) -> float:
            return scale * budget

    def train(scale: float, activation: Any, budget: int, seed: int) -> float:
        return scale * budget

    assert trained(task(Training()), budget=3).score == 6
    assert trained(task(partial(train, 5.0)), budget=3).score == 15


@pytest.mark.parametrize(
    ("train", "words"),
    [
        (3, "train is a function, got int"),
        (lambda activation, budget: 0, "no parameter seed"),
        (lambda act, epochs, seed: 0, "no parameter activation and no budget"),
        (lambda activation, budget, seed, rate: 0, "needs rate, which nobody gives"),
        (lambda activation, budget, seed, /: 0, "no parameter activation"),
        (max, "with the parameters activation, budget, seed"),
    ],
)
def test_a_wrong_signature_is_said_at_once(train: Any, words: str) -> None:
    with pytest.raises(PangaeaError, match=words):
        task(train)


def test_the_activation_is_the_function_with_its_shape_and_channel() -> None:
    made = []

    def train(activation: Any, budget: int, seed: int) -> float:
        made.extend([activation(), activation(shape=(4, 7), channel_dim=-1), activation(3)])
        return 0.0

    trained(task(train), "alpha*tanh(x)", scope="channel")
    lazy, last, first = made
    assert not lazy._built
    assert last.alpha.shape == (7,)
    assert first.alpha.shape == (3,)
    assert {str(module.function) for module in made} == {"alpha*tanh(x)"}


def test_calling_the_maker_with_a_tensor_is_answered_with_how_to_do_it() -> None:
    with pytest.raises(PangaeaError, match=r"act = activation\(\), act\(x\)"):
        Maker("relu(x)", None)(torch.zeros(3))  # type: ignore[arg-type]


def test_the_maker_travels_to_processes_of_the_users_own() -> None:
    maker = pickle.loads(pickle.dumps(Maker("alpha*tanh(x)", "layer")))
    assert maker()(torch.zeros(2, 3)).shape == (2, 3)


def test_every_generator_is_seeded_and_the_processs_own_are_as_before() -> None:
    def train(activation: Any, budget: int, seed: int) -> dict[str, float]:
        draws = random.random(), np.random.rand(), torch.rand(()).item()
        return dict(zip(("score", "numpy", "torch"), draws, strict=True))

    def state() -> tuple[Any, ...]:
        numpy = np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
        return random.getstate(), numpy, torch.get_rng_state().tolist(), torch.get_num_threads()

    torch.set_num_threads(2)
    before = state()
    one, same, other = (trained(task(train), seed=seed) for seed in (5, 5, 6))
    assert state() == before
    assert (one.score, one.values) == (same.score, same.values)
    assert one.score != other.score
    assert one.values["numpy"] != other.values["numpy"]
    assert one.values["torch"] != other.values["torch"]
    assert trained(task(train), seed=2**40).score is not None


def test_one_thread_on_the_cpu() -> None:
    torch.set_num_threads(2)
    count = trained(task(lambda activation, budget, seed: torch.get_num_threads()))
    assert count.score == 1


# What it returns.


@pytest.mark.parametrize("answer", [0.5, np.float32(0.5), torch.tensor(0.5), {"score": 0.5}])
def test_a_score_is_any_number(answer: Any) -> None:
    result = returning(answer)
    assert (result.score, result.failure) == (0.5, None)


@pytest.mark.parametrize(
    ("answer", "failure", "detail"),
    [
        (math.nan, "diverged", "the error was nan"),
        ({"score": -math.inf}, "diverged", "the error was -inf"),
        (None, "no score", "train returned nothing as the error, which is not a number"),
        ("0.5", "no score", "train returned '0.5' as the error, which is not a number"),
        (True, "no score", "train returned True as the error, which is not a number"),
        (torch.zeros(2), "no score", "tensor([0., 0.]) as the error"),
        ([], "no score", "train returned [] as the error, which is not a number"),
        pytest.param(10**5000, "diverged", "the error was inf", id="huge"),
        pytest.param(-(10**5000), "diverged", "the error was -inf", id="huge, below zero"),
        ({"loss": 1.0}, "no score", "train returned a dict without 'score': {'loss': 1.0}"),
        ({"failure": "untrained", "detail": "at chance"}, "untrained", "at chance"),
    ],
)
def test_what_is_no_score_is_a_failure_that_says_so(answer: Any, failure: str, detail: str) -> None:
    result = returning(answer)
    assert (result.score, result.failure) == (None, failure)
    assert detail in str(result.detail)


def test_other_numbers_are_kept_beside_it_and_curves_as_curves() -> None:
    answer = {
        "score": 1.0,
        "test": 2.0,
        "size": np.int64(7),
        "note": "hm",
        "bad": math.nan,
        "loss": [3.0, torch.tensor(2.0)],
        "training": [0.1, math.inf],
        "validation": {1: 4.0, 2: 3.0},
    }
    result = returning(answer)
    assert result.values == {"test": 2.0, "size": 7.0}
    assert result.loss == [3.0, 2.0]
    assert result.training == []
    assert result.validation == {1: 4.0, 2: 3.0}


def test_a_test_run_is_scored_on_test_data_and_keeps_its_validation_score() -> None:
    result = returning({"score": 1.0, "test": 2.0}, part="test")
    assert (result.score, result.values) == (2.0, {"validation": 1.0})
    alone = returning({"score": 1.0}, part="test")
    assert (alone.score, alone.values) == (1.0, {})


def test_an_error_is_theirs_with_their_lines_and_none_of_ours(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text(
        textwrap.dedent(
            """
            import pangaea as pg
            from torch import nn

            def build(activation):
                return nn.Sequential(nn.Linear(3, -3), activation())

            def train(activation, budget, seed):
                return build(activation)

            goal = pg.minimize("error")
            task = pg.Task("mine", train, goal=goal, budgets={"search": 1, "full": 1})
            """
        )
    )
    with pytest.raises(UserCodeError) as caught:
        pg.evaluate("relu", f"{file}:task", runs=1)
    message = str(caught.value)
    assert message.startswith("train failed with relu(x):\n")
    assert f'File "{file}", line 9, in train' in message
    assert f'File "{file}", line 6, in build' in message
    assert message.count("File ") == 2
    assert "RuntimeError" in message
    assert "the code of mine fails: RuntimeError" in caught.value.brief
    assert "(broken.py, line 6: return nn.Sequential" in caught.value.brief
    assert str(pickle.loads(pickle.dumps(caught.value))) == message


def test_leaving_the_program_is_an_error_too_and_no_memory_a_failure() -> None:
    def leaving(activation: Any, budget: int, seed: int) -> float:
        raise SystemExit(3)

    def greedy(activation: Any, budget: int, seed: int) -> float:
        raise torch.OutOfMemoryError("Tried to allocate 9 TiB. Of 1. And so on")

    with pytest.raises(UserCodeError, match="SystemExit: 3"):
        trained(task(leaving))
    result = trained(task(greedy))
    assert (result.failure, result.detail) == ("out of memory", "Tried to allocate 9 TiB. Of 1")


def test_parameters_that_are_no_curves_are_left_out() -> None:
    def numbers(activation: Any, budget: int, seed: int) -> dict[str, Any]:
        rows = [[1.0, 2.0], [1.5, 2.5]]
        return {"score": 1.0, "parameters": {"alpha": 0.5, "beta": rows, "gamma": ""}}

    result = trained(task(numbers))
    assert (result.score, result.counts) == (1.0, [])
    assert result.parameters == {"beta": [[1.0, 2.0], [1.5, 2.5]]}


def test_a_folder_for_checkpoints_is_gone_at_the_end_if_it_was_for_this_run(tmp_path: Path) -> None:
    def train(activation: Any, budget: int, seed: int, how: How) -> float:
        folder = Path(str(how.checkpoints))
        folder.mkdir(exist_ok=True)
        (folder / "state").touch()
        return 0.0

    folder = tmp_path / "run-1"
    trained(task(train), how=How(checkpoints=str(folder)))
    assert folder.exists()
    trained(task(train), how=How(checkpoints=str(folder), passing=True))
    assert not folder.exists()


# What it is made from.


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"goal": "loss"}, "goal is maximize"),
        ({"goal": None}, "goal is maximize"),
        ({"budgets": None}, "needs its budgets, such as budgets="),
        ({"budgets": 5}, "needs its budgets"),
        ({"budgets": {"search": 3}}, "the budgets search and full.*got search"),
        ({"budgets": {"search": 0, "full": 3}}, "at least one of the task's epochs, got 0"),
        ({"budgets": {"search": 1.5, "full": 3}}, "got 1.5"),
        ({"budgets": {"search": 4, "full": 3}}, "its budget is 4 epochs, the full one 3"),
        ({"baseline": "rellu"}, "relu"),
    ],
)
def test_what_is_missing_or_wrong_is_said(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PangaeaError, match=words):
        task(lambda activation, budget, seed: 0.0, **changes)


@pytest.mark.parametrize("name", ["", " ", 3, "a.py:task"])
def test_a_name_is_a_text_that_is_no_place(name: Any) -> None:
    with pytest.raises(PangaeaError, match="a task's name is a text without a colon"):
        pg.Task(name, lambda activation, budget, seed: 0.0, goal=GOAL, budgets=BUDGETS)


def test_a_wrong_part_or_seed_is_refused() -> None:
    with pytest.raises(PangaeaError, match="no part of the data is called 'tset'"):
        returning(0.0, part="tset")
    with pytest.raises(PangaeaError, match="a seed is a whole number from 0, got -1"):
        returning(0.0, seed=-1)


def test_what_a_study_keeps_of_it_is_plain_data() -> None:
    about = task(lambda activation, budget, seed: 0.0, unit="steps", recipe={"rate": 0.1}).about()
    assert about == {
        "name": "mine",
        "goal": GOAL.as_dict(),
        "baseline": "relu(x)",
        "budgets": BUDGETS,
        "unit": "steps",
        "recipe": {"rate": 0.1},
    }


def test_it_learns_with_parameters_that_are_made_at_the_first_input() -> None:
    x = torch.linspace(-2, 2, 64).unsqueeze(1)

    def train(activation: Any, budget: int, seed: int) -> dict[str, Any]:
        model = nn.Sequential(nn.Linear(1, 16), activation(), nn.Linear(16, 1))
        optimizer = torch.optim.AdamW(pg.parameter_groups(model), lr=1e-2)
        losses = []
        for _ in range(100 * budget):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), x**2)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return {"score": losses[-1], "loss": losses, "alpha": model[1].alpha.std()}  # type: ignore[operator, union-attr]

    result = trained(task(train), "alpha*tanh(x)", scope="channel")
    assert result.score is not None
    assert result.score < result.loss[0] / 4
    assert result.values["alpha"] > 0
    assert result.device == "cpu"
    assert result.seconds > 0


# Where it stands.


@pytest.fixture
def place(tmp_path: Path) -> Callable[[str], str]:
    def write(text: str) -> str:
        file = tmp_path / "task_file.py"
        file.write_text(textwrap.dedent(text))
        return f"{file}:task"

    return write


def test_errors_of_a_file_are_one_sentence_with_the_line(place: Callable[[str], str]) -> None:
    with pytest.raises(PangaeaError, match=r"is not Python: .*line 2"):
        pg.task(place("\ndef train(:\n"))
    with pytest.raises(PangaeaError, match=r"a task's goal is maximize.*line 3"):
        pg.task(
            place(
                """\
                import pangaea as pg
                train = lambda activation, budget, seed: 0
                task = pg.Task("a", train, goal="loss", budgets={"search": 1, "full": 1})
                """
            )
        )
    with pytest.raises(PangaeaError, match=r"fails: SystemExit: 2 .*line 1"):
        pg.task(place("raise SystemExit(2)"))


def test_what_is_not_there_or_no_task_is_said(place: Callable[[str], str], tmp_path: Path) -> None:
    with pytest.raises(PangaeaError, match=r"there is no file .*nowhere\.py"):
        pg.task(f"{tmp_path}/nowhere.py:task")
    with pytest.raises(PangaeaError, match=r"my\.py is a file: say which task of it"):
        pg.task("my.py")
    with pytest.raises(PangaeaError, match="is called 'task'; did you mean tusk"):
        pg.task(place("tusk = 3"))
    with pytest.raises(PangaeaError, match="there is no module no_such_package"):
        pg.task("no_such_package.tasks:task")


def test_what_is_no_task_is_said(place: Callable[[str], str]) -> None:
    with pytest.raises(
        PangaeaError, match=r"is no task, but of type int: make one with pangaea\.Task"
    ):
        pg.task(place("task = 3"))


def test_a_file_that_searches_while_it_is_loaded_is_told_to_wait(
    place: Callable[[str], str],
) -> None:
    with pytest.raises(PangaeaError, match="begins a search while it is being loaded"):
        pg.task(place("import pangaea as pg\npg.search('mnist1d')\ntask = 3"))

"""Training: the same seed the same run, failures as results, wrong input a sentence."""

import json
import math
import random
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
import torch

import pangaea as pg
from pangaea.activation.module import SCOPES, Activation
from pangaea.data import sets as data
from pangaea.data.sets import Arrays, Pair
from pangaea.errors import PangaeaError, UnknownNameError
from pangaea.networks import networks
from pangaea.tasks.classification import Classification
from pangaea.training.run import Training
from tests.random_images import small
from tests.training.runs import A, run, short, story

LAYERS = 5  # activations in the network of the default task


def test_the_same_seed_gives_the_same_run_to_the_last_bit() -> None:
    again = pg.train("mnist1d", A, epochs=2)
    assert story(again) == story(run())


def test_the_caller_has_no_say_in_the_chances_of_a_run() -> None:
    torch.manual_seed(11)
    torch.rand(7)
    torch.set_num_threads(2)
    assert story(pg.train("mnist1d", A, epochs=2)) == story(run())


def test_a_compiled_run_is_the_same_run() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, while it compiles
        compiled = run(compiled=True)
    assert compiled.score == pytest.approx(run().score, abs=0.5)
    assert compiled.loss == pytest.approx(run().loss, rel=1e-4)


def test_other_seeds_give_other_runs() -> None:
    first, second = run(seed=0), run(seed=1)
    assert first.seed == 0
    assert second.seed == 1
    assert first.loss != second.loss
    assert first.score != second.score


@pytest.mark.parametrize("options", [{}, {"scope": "layer"}, {"scope": "neuron", "data": "test"}])
def test_several_seeds_give_what_each_gives_alone(options: dict[str, Any]) -> None:
    together = pg.train_seeds("mnist1d", A, "full", [2, 0, 1], epochs=2, **options)
    assert [result.seed for result in together] == [2, 0, 1]
    for result in together:
        alone = run(seed=result.seed, **options)
        assert story(result) == story(alone)


def test_several_seeds_in_the_set_up_of_pau_give_what_each_gives_alone() -> None:
    task, seeds = pg.task("mnist1d"), range(3)
    pau = task.recipes["pau"].compressed(1)
    recipe = replace(pau, batch=100, activation_rate=0.05, valid_above=0.0)
    alone = [pg.train(task, "PAU", recipe, seed) for seed in seeds]
    worst, second, _ = sorted(result.training[-1] for result in alone)
    strict = replace(recipe, valid_above=(worst + second) / 2)
    for result, wanted in zip(pg.train_seeds(task, "PAU", strict, seeds), alone, strict=True):
        assert result.loss == pytest.approx(wanted.loss, rel=1e-3)
        assert result.training == pytest.approx(wanted.training)
        for name, rows in wanted.parameters.items():
            assert result.parameters[name][1] == pytest.approx(rows[1], abs=1e-3)
        failed = wanted.training[-1] == worst
        assert result.failure == ("untrained" if failed else None)
        assert result.score == (None if failed else pytest.approx(wanted.score, abs=1))


def test_no_seeds_are_no_runs() -> None:
    assert pg.train_seeds("mnist1d", A, "full", []) == []


@pytest.mark.parametrize("seeds", [1, 4])
@pytest.mark.parametrize("ends", ["well", "badly"])
def test_the_callers_random_numbers_and_threads_come_back(ends: str, seeds: int) -> None:
    torch.set_num_threads(2)
    torch.manual_seed(5)

    def states() -> list[Any]:
        noise = torch.get_rng_state().tolist(), np.random.get_state()[1].tolist()
        return [*noise, random.getstate(), torch.get_num_threads(), torch.get_default_dtype()]

    def stop(part: float) -> None:
        if ends == "badly":
            raise KeyboardInterrupt

    before = states()
    try:
        pg.train_seeds("mnist1d", "relu", "full", range(seeds), epochs=1, progress=stop)
    except KeyboardInterrupt:
        assert ends == "badly"
    else:
        assert ends == "well"
    assert states() == before


def test_a_result_is_plain_data() -> None:
    result = run()
    assert json.loads(json.dumps(result.as_dict(), allow_nan=False))["task"] == "mnist1d"
    assert result.function == str(pg.parse(A))
    assert (result.scope, result.part, result.device) == (None, "validation", "cpu")
    assert (result.failure, result.detail) == (None, None)
    assert result.seconds > 0
    assert result.peak_memory is not None
    assert 1e8 < result.peak_memory < 1e11


@pytest.mark.parametrize("epochs", [1, 3])
def test_curves_have_a_point_for_each_epoch(epochs: int) -> None:
    result = run("relu", epochs=epochs)
    assert len(result.loss) == len(result.training) == epochs
    assert all(type(value) is float for value in (*result.loss, *result.training))
    assert list(result.validation) == list(range(1, epochs + 1))
    assert result.score == result.validation[epochs]
    assert result.parameters == {}


def test_a_recipe_may_ask_for_fewer_points_of_the_validation_curve() -> None:
    sparse = short(pg.task("mnist1d"), 4, judge_every=3)
    result = pg.train("mnist1d", A, sparse)
    assert list(result.validation) == [3, 4]
    assert len(result.loss) == 4
    often = pg.train("mnist1d", A, replace(sparse, judge_every=1))
    assert list(often.validation) == [1, 2, 3, 4]
    assert often.loss == result.loss


@pytest.mark.parametrize("part", ["validation", "test"])
def test_a_score_is_that_of_the_last_epoch_and_not_of_the_best(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = iter([30.0, 90.0, 60.0, 45.0])  # of three epochs, then of the test data
    monkeypatch.setattr(Training, "_score", lambda *_: next(scores))
    result = pg.train(
        "mnist1d", "relu", recipe=short(pg.task("mnist1d"), 3, judge_every=1), data=part
    )
    assert result.validation == {1: 30.0, 2: 90.0, 3: 60.0}
    if part == "validation":
        assert result.score == 60.0
    else:
        assert (result.score, result.values["validation"]) == (45.0, 60.0)


@pytest.mark.parametrize(
    "changes",
    [{"one_cycle": True}, {"one_cycle": False, "warmup": 0.55, "warmup_rate": 0.001}],
    ids=["one cycle", "warm-up"],
)
def test_every_step_has_the_rate_of_its_own_place_in_the_schedule(changes: dict[str, Any]) -> None:
    recipe = short(pg.task("mnist1d"), 2, **changes)
    device = torch.device("cpu")
    run = Training(pg.task("mnist1d"), "relu", recipe, 0, device=device, dtype=torch.float32)
    seen = []
    while not run.done:
        run.advance()
        seen.append(run.optimizer.param_groups[0]["lr"].item())
    steps = run.batches.steps
    assert len(seen) == 2 * steps
    assert seen == pytest.approx([recipe.rate_at(i / steps) for i in range(2 * steps)], rel=1e-6)
    assert len(set(seen[:steps])) > 1  # within an epoch


def test_parameters_learn_in_every_step() -> None:
    recipe = short(pg.task("mnist1d"), 1)
    device = torch.device("cpu")
    run = Training(pg.task("mnist1d"), A, recipe, 0, device=device, dtype=torch.float32)
    module = next(m for m in run.model.modules() if isinstance(m, Activation))
    seen = [module.alpha.mean().item()]
    for _ in range(4):
        run.advance()
        seen.append(module.alpha.mean().item())
    assert len({*seen}) == 5


def test_parameters_are_followed_from_exactly_one() -> None:
    result = run(epochs=3)
    assert list(result.parameters) == ["alpha", "beta"]
    for rows in result.parameters.values():
        assert [len(row) for row in rows] == [LAYERS] * (3 + 1)
        assert rows[0] == [1.0] * LAYERS
        assert all(value != 1.0 for row in rows[1:] for value in row)


def test_it_learns() -> None:
    result = pg.train("mnist1d", "relu", epochs=8)
    assert result.score is not None
    assert result.score > 45
    assert result.loss == sorted(result.loss, reverse=True)
    assert result.training[-1] > 45


def test_a_function_that_explodes_ends_within_a_few_steps() -> None:
    result = run("exp(exp(exp(x)))", epochs=4)
    assert result.failure in ("diverged", "exploded")
    assert result.score is None
    assert result.loss == []
    assert (found := re.search(r"after (\d+) steps", str(result.detail))), result.detail
    assert int(found[1]) <= 5
    json.dumps(result.as_dict(), allow_nan=False)


def test_a_loss_beyond_hope_is_an_explosion() -> None:
    wild = short(pg.task("mnist1d"), 2, one_cycle=False, rate=1e6)
    result = pg.train("mnist1d", "relu", wild)
    assert result.failure in ("diverged", "exploded")
    assert result.score is None
    assert str(result.detail).startswith("the loss was ")
    patient = pg.train("mnist1d", "relu", short(pg.task("mnist1d"), 1))
    assert patient.failure is None


@pytest.mark.parametrize(
    ("loss", "reason"), [(1e9, "exploded"), (math.inf, "diverged"), (math.nan, "diverged")]
)
def test_a_loss_explodes_as_long_as_it_is_a_number(
    loss: float, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Classification.loss
    monkeypatch.setattr(Classification, "loss", lambda *given: 0 * real(*given) + loss)
    result = pg.train("mnist1d", "relu", epochs=1)
    assert (result.failure, result.loss) == (reason, [])
    assert result.detail == f"the loss was {loss:.4g} after 1 steps (epoch 1)"


@pytest.mark.parametrize("seeds", [2, 4])
def test_a_diverging_seed_does_not_take_the_others_with_it(
    seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy = pg.train_seeds("mnist1d", A, "full", range(seeds), epochs=1)
    real, built = Classification.build, 0

    def build(self: Classification, *arguments: Any) -> torch.nn.Module:
        nonlocal built
        model = real(self, *arguments)
        *_, last = model.parameters()
        built += not last.is_meta
        if built == 2 and not last.is_meta:
            torch.nn.init.constant_(last, math.nan)
        return model

    monkeypatch.setattr(Classification, "build", build)
    results = pg.train_seeds("mnist1d", A, "full", range(seeds), epochs=1)
    assert results[1].failure == "diverged"
    assert results[1].detail == "the loss was nan after 1 steps (epoch 1)"
    assert results[1].score is None
    assert results[1].loss == []
    for i in {*range(seeds)} - {1}:
        assert story(results[i]) == story(healthy[i])


def test_a_result_with_parameters_that_are_no_numbers_is_plain_data(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = Classification.build

    def build(self: Classification, *arguments: Any) -> torch.nn.Module:
        model = real(self, *arguments)
        last = [module for module in model.modules() if isinstance(module, Activation)][-1]
        torch.nn.init.constant_(last.alpha, math.nan)
        return model

    monkeypatch.setattr(Classification, "build", build)
    result = pg.train("mnist1d", A, epochs=2)
    assert result.failure == "diverged"
    assert result.parameters == {name: [] for name in pg.parse(A).parameters}
    json.dumps(result.as_dict(), allow_nan=False)


@pytest.mark.parametrize("seeds", [2, 4])
def test_where_all_seeds_diverge_all_end_at_once(seeds: int) -> None:
    heard: list[float] = []
    results = pg.train_seeds(
        "mnist1d", "exp(exp(exp(x)))", "full", range(seeds), progress=heard.append
    )
    assert {result.failure for result in results} <= {"diverged", "exploded"}
    assert {result.score for result in results} == {None}
    assert sum(result.seconds for result in results) < 2
    json.dumps([result.as_dict() for result in results], allow_nan=False)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("function", ["zero(x)", "one(x)"])
def test_a_constant_function_trains_to_chance(function: str, precision: str) -> None:
    result = pg.train("mnist1d", function, epochs=1, precision=precision)
    assert result.failure is None
    assert result.score == pytest.approx(10, abs=1)


@pytest.mark.parametrize("network", ["wrn-10-1", "all-cnn-c"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_constant_function_trains_on_images(network: str, precision: str) -> None:
    task = small(f"{network}/cifar10", 16)
    result = pg.train(task, "zero(x)", short(task, 1, batch=8), precision=precision)
    assert result.failure is None
    assert result.loss == pytest.approx([math.log(10)], abs=0.05)


@pytest.mark.parametrize("scope", SCOPES)
def test_parameters_are_learnt_for_every_scope(scope: str) -> None:
    result = run(scope=scope)
    assert result.failure is None
    assert result.scope == scope
    assert all(math.isfinite(v) for rows in result.parameters.values() for r in rows for v in r)


def test_scopes_are_different_runs() -> None:
    assert len({tuple(run(scope=scope).loss) for scope in SCOPES}) == len(SCOPES)
    assert run(scope="channel").loss == run().loss


@pytest.mark.parametrize(
    ("function", "parameters"), [("PReLU", 1), ("APL", 14), ("PAU", 10), ("SPLASH", 8)]
)
def test_the_learnable_baselines_train(function: str, parameters: int) -> None:
    result = pg.train("mnist1d", function, epochs=1)
    assert result.failure is None
    assert all(math.isfinite(loss) for loss in result.loss)
    assert len(result.parameters) == parameters
    first, last = ([rows[i] for rows in result.parameters.values()] for i in (0, -1))
    assert first != last


def test_the_set_up_of_pau_counts_an_untrained_run_as_failed() -> None:
    result = pg.train("mnist1d", "PAU", "pau", epochs=1)
    assert result.failure == "untrained"
    assert result.score is None
    assert result.detail == f"the training score ended at {result.training[-1]:.2f}"
    assert len(result.loss) == 1


def test_activation_parameters_can_have_a_rate_of_their_own() -> None:
    still = short(pg.task("mnist1d"), 1, one_cycle=False, rate=0.0)
    frozen = pg.train("mnist1d", A, still)
    assert frozen.parameters["alpha"] == [[1.0] * LAYERS] * 2
    moved = pg.train("mnist1d", A, replace(still, activation_rate=0.01))
    assert all(value != 1.0 for value in moved.parameters["alpha"][1])
    assert frozen.loss[0] != moved.loss[0]


def test_half_precision_learns_on_a_cpu() -> None:
    half, full = (pg.train("mnist1d", A, epochs=4, precision=p) for p in ("bf16", "fp32"))
    assert half.failure is None
    assert half.loss != full.loss
    assert half.loss == pytest.approx(full.loss, rel=0.05)
    assert half.training[-1] > 30


@pytest.mark.parametrize("network", [name for name in networks() if name != "small-cnn"])
def test_every_network_takes_two_steps(network: str) -> None:
    task = small(f"{network}/cifar10", 16)
    result = pg.train(task, "relu", short(task, 1, batch=8))
    assert result.failure is None
    assert math.isfinite(result.loss[0])
    assert result.score is not None


def test_every_network_takes_parameters_into_account() -> None:
    for network in ("wrn-10-1", "resnet-v1-8", "resnet-v2-11", "all-cnn-c"):
        task = small(f"{network}/cifar10", 16)
        result = pg.train(task, A, short(task, 1, batch=8), precision="bf16")
        assert result.failure is None, network
        for rows in result.parameters.values():
            assert rows[0] == [1.0] * len(rows[0]), network
            assert any(value != 1.0 for value in rows[1]), network


def test_every_step_is_the_same_share_of_the_training() -> None:
    task, cpu = pg.task("mnist1d"), torch.device("cpu")
    run = Training(task, "relu", short(task, 2), 0, device=cpu, dtype=torch.float32)
    shares = [run.share]
    while not run.done:
        run.advance()
        shares.append(run.share)
    assert shares == pytest.approx(np.linspace(0, 1, 2 * run.batches.steps + 1).tolist())


@pytest.mark.parametrize("seeds", [2, 4])
def test_progress_grows_from_nothing_to_all(seeds: int) -> None:
    heard: list[float] = []
    pg.train_seeds("mnist1d", "relu", "full", range(seeds), epochs=4, progress=heard.append)
    assert heard == sorted(heard)
    assert len(heard) >= 4
    assert 0 < heard[0] <= 0.25
    assert heard[-1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "near"),
    [
        ({"task": "mnist1dd"}, "mnist1d"),
        ({"task": "wrn-10-4/cifar"}, "wrn-10-4/cifar10"),
        ({"recipe": "ful"}, "full"),
        ({"recipe": "seach"}, "search"),
        ({"scope": "chanel"}, "channel"),
        ({"precision": "bf61"}, "bf16"),
        ({"precision": "fp23"}, "fp32"),
        ({"data": "tset"}, "test"),
        ({"data": "valid"}, "validation"),
        ({"function": "rleu"}, "relu"),
    ],
)
def test_a_wrong_name_is_answered_with_near_ones(options: dict[str, str], near: str) -> None:
    with pytest.raises(PangaeaError, match=rf"did you mean .*\b{near}\b"):
        pg.train(**{"task": "mnist1d", "function": "relu", "epochs": 1, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "cdua"}, "cpu, cuda or cuda:1, got 'cdua'"),
        ({"device": "meta"}, "cpu, cuda or cuda:1, got 'meta'"),
        ({"seed": -1}, "from 0, got -1"),
        ({"seed": 1.5}, "from 0, got 1.5"),
        ({"seed": True}, "from 0, got True"),
        ({"seed": "1"}, "from 0, got '1'"),
        ({"epochs": 0}, "at least one of the task's epochs, got 0"),
        ({"function": 3}, "got int"),
        ({"task": 3}, "got int"),
        ({"function": ""}, "expected"),
    ],
)
def test_a_wrong_value_is_said(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PangaeaError, match=re.escape(message)):
        pg.train(**{"task": "mnist1d", "function": "relu", "epochs": 1, **options})


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU to use")
def test_a_missing_gpu_is_said() -> None:
    with pytest.raises(PangaeaError, match="choose the device cpu"):
        pg.train("mnist1d", "relu", epochs=1, device="cuda")


def test_nothing_wrong_is_found_out_late(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: Training) -> NoReturn:
        raise AssertionError("a step was taken")

    monkeypatch.setattr(Training, "advance", never)
    with pytest.raises(PangaeaError, match="from 0, got -1"):
        pg.train_seeds("mnist1d", "relu", "full", [0, 1, -1], epochs=1)
    with pytest.raises(UnknownNameError):
        pg.train_seeds("mnist1d", "relu", "full", [0], epochs=1, scope="chanel")  # type: ignore[arg-type]


def test_too_little_memory_on_a_gpu_is_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forward(self: Activation, x: torch.Tensor) -> NoReturn:
        raise torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 1 GiB."
        )

    with monkeypatch.context() as patch:
        patch.setattr(Activation, "forward", forward)
        result = pg.train("mnist1d", A, epochs=2, checkpoints=tmp_path)
    assert result.failure == "out of memory"
    assert result.score is None
    assert result.detail == "CUDA out of memory. Tried to allocate 2.00 GiB"
    assert (result.task, result.function, result.seed) == ("mnist1d", str(pg.parse(A)), 0)
    json.dumps(result.as_dict(), allow_nan=False)
    # With room enough, the same call succeeds.
    assert story(pg.train("mnist1d", A, epochs=2, checkpoints=tmp_path)) == story(run())


@pytest.mark.parametrize("seeds", [1, 2])
def test_too_little_memory_on_the_cpu_is_a_result(
    seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Activation, "forward", lambda self, x: x + torch.empty(2**55))
    results = pg.train_seeds("mnist1d", "relu", "full", range(seeds), epochs=1)
    assert [result.seed for result in results] == list(range(seeds))
    for result in results:
        assert result.failure == "out of memory"
        assert str(4 * 2**55) in str(result.detail)


def test_an_error_of_the_code_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Activation, "forward", lambda self, x: x @ x)
    with pytest.raises(RuntimeError, match="size"):
        pg.train("mnist1d", "relu", epochs=1)


def twisted() -> Classification:
    """MNIST-1D whose validation part repeats the training part, and whose test labels are wrong."""
    task = pg.task("mnist1d")
    inputs, labels = task.data_set.load().train
    arrays = Arrays(
        train=(inputs, labels), validation=(inputs, labels), test=(inputs, (labels + 1) % 10)
    )
    made = replace(task.data_set, name="twisted", load=lambda: arrays, sizes=(1000, 1000, 1000))
    return replace(task, data_set=made)


def test_accuracy_is_measured_on_the_part_asked_for() -> None:
    task = twisted()
    validation, test = (
        pg.train(task, "relu", epochs=10, data=part) for part in ("validation", "test")
    )
    assert (validation.part, test.part) == ("validation", "test")
    assert validation.loss == test.loss
    assert validation.validation == test.validation
    assert validation.score == validation.validation[10]
    assert validation.score is not None
    assert test.score is not None
    assert validation.score > 50
    # What is right about the one is wrong about the other.
    assert test.score <= 100 - validation.score


@pytest.mark.parametrize("seeds", [1, 4])
def test_runs_judged_on_validation_data_never_get_test_data(
    seeds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(self: data.TestData) -> NoReturn:
        raise AssertionError("test data")

    monkeypatch.setattr(data.TestData, "__post_init__", touched)
    assert len(pg.train_seeds("mnist1d", A, "full", range(seeds), epochs=1)) == seeds
    with pytest.raises(AssertionError, match="test data"):
        pg.train_seeds("mnist1d", A, "full", range(seeds), epochs=1, data="test")


def test_real_images_are_learnt(cifar_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PANGAEA_DATA", str(cifar_folder))
    task = pg.task("wrn-10-1/cifar100")
    whole = task.data_set.load()

    def some(part: Pair, count: int) -> Pair:
        inputs, labels = part
        first = np.flatnonzero(labels < 10)[:count]
        return inputs[first], labels[first]

    ten = replace(
        task.data_set,
        name="ten classes of cifar100",
        classes=10,
        validation_per_class=None,
        sizes=(700, 500, 10),
        load=lambda: Arrays(
            train=some(whole.train, 700),
            validation=some(whole.test, 500),
            test=some(whole.test, 10),
        ),
    )
    result = pg.train(replace(task, data_set=ten), "relu", short(task, 3, batch=32))
    assert result.failure is None
    assert result.score is not None
    assert result.score > 22  # chance is 10, with a standard deviation of 1.3
    assert result.loss[-1] < result.loss[0]

"""The paper's appendix on training details, number by number, and what compressing leaves of it."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.networks import network, networks
from pangaea.tasks.classification import recipes
from pangaea.training import start
from pangaea.training.recipes import Recipe

# "L2 regularization of λ" is λ‖w‖² in Keras: a gradient of 2λw.
L2 = {"wrn": 0.0005, "resnet": 0.0001, "all-cnn-c": 0.001}
STEPPED = {
    name: recipes(name)["full"]
    for name in ("wrn-10-4", "resnet-v1-56", "resnet-v2-56", "all-cnn-c")
}
GRID = 4000


def visited(recipe: Recipe) -> list[tuple[float, float]]:
    """Every rate in the order of the training, with the part of it done when the rate begins."""
    found: list[tuple[float, float]] = []
    for i in range(GRID):
        rate = recipe.rate_at(i / GRID * recipe.epochs)
        if not found or found[-1][1] != rate:
            found.append((i / GRID, rate))
    return found


@pytest.mark.parametrize("name", ["wrn-10-4", "wrn-16-8", "wrn-40-4"])
def test_a_wide_residual_network_is_trained_as_the_paper_says(name: str) -> None:
    full = recipes(name)["full"]
    assert (full.epochs, full.batch, full.momentum) == (200, 128, 0.9)
    assert full.nesterov
    assert full.weight_decay == pytest.approx(2 * L2["wrn"])
    assert full.featurewise
    assert full.flip
    assert full.pad == 4
    assert full.warmup == 0
    for epoch, rate in {0: 0.1, 60: 0.02, 120: 0.004, 160: 0.0008}.items():
        assert full.rate_at(epoch) == pytest.approx(rate)
    for before, rate in {59.99: 0.1, 119.99: 0.02, 159.99: 0.004, 199.99: 0.0008}.items():
        assert full.rate_at(before) == pytest.approx(rate)


@pytest.mark.parametrize("name", ["resnet-v1-20", "resnet-v1-56", "resnet-v1-110"])
def test_a_first_residual_network_is_trained_as_the_paper_says(name: str) -> None:
    full = recipes(name)["full"]
    assert (full.epochs, full.batch, full.momentum) == (200, 128, 0.9)
    assert not full.nesterov
    assert full.weight_decay == pytest.approx(2 * L2["resnet"])
    assert not full.featurewise
    assert full.flip
    assert full.pad == 4
    for epoch, rate in {0: 0.01, 0.99: 0.01, 1: 0.1, 90.99: 0.1}.items():
        assert full.rate_at(epoch) == pytest.approx(rate)
    for epoch, rate in {91: 0.01, 136.99: 0.01, 137: 0.001, 199.99: 0.001}.items():
        assert full.rate_at(epoch) == pytest.approx(rate)


@pytest.mark.parametrize("kind", ["full", "search"])
def test_a_preactivation_network_differs_by_having_no_warm_up(kind: str) -> None:
    one, two = recipes("resnet-v1-56")[kind], recipes("resnet-v2-56")[kind]
    assert two.rate_at(0) == pytest.approx(0.1)
    assert one.rate_at(0) == pytest.approx(0.01)
    warm = {"warmup", "warmup_rate"}
    assert {k: v for k, v in vars(one).items() if k not in warm} == {
        k: v for k, v in vars(two).items() if k not in warm
    }


def test_all_cnn_c_is_trained_as_the_paper_says_and_searched_with_the_same() -> None:
    full = recipes("all-cnn-c")["full"]
    assert (full.epochs, full.momentum, full.pad) == (350, 0.9, 5)
    assert not full.nesterov
    assert full.featurewise
    assert full.flip
    assert full.weight_decay == pytest.approx(2 * L2["all-cnn-c"])
    for epoch, rate in {0: 0.01, 199.99: 0.01, 200: 1e-3, 250: 1e-4, 300: 1e-5}.items():
        assert full.rate_at(epoch) == pytest.approx(rate)
    assert recipes("all-cnn-c")["search"] == full


@pytest.mark.parametrize("name", ["wrn-10-4", "resnet-v1-56", "resnet-v2-56", "all-cnn-c"])
def test_batches_have_128_images_and_no_mean_is_subtracted_for_each_pixel(name: str) -> None:
    for kind in ("full", "search"):
        assert recipes(name)[kind].batch == 128
        assert not recipes(name)[kind].pixelwise


@pytest.mark.parametrize("rate", [None, 0.01])
def test_weights_decay_and_nothing_else_does(rate: float | None) -> None:
    """Biases, batch norms and the functions' own parameters stay as they are."""
    recipe = replace(recipes("wrn-10-4")["full"], activation_rate=rate)
    model = network(
        "wrn-10-1",
        lambda shape: pg.Activation("alpha*swish(beta*x)", shape=shape),
        classes=10,
        shape=(3, 32, 32),
    )
    names = {id(p): name for name, p in model.named_parameters()}
    rows = start.groups(model, recipe)
    by_decay: dict[float, set[str]] = {}
    for row in rows:
        by_decay.setdefault(row["weight_decay"], set()).update(names[id(p)] for p in row["params"])
    weights = {names[id(p)] for p in model.parameters() if p.dim() > 1}
    assert by_decay == {recipe.weight_decay: weights, 0.0: {*names.values()} - weights}
    apart = [row["constant"] for row in rows]
    assert apart == ([None, None] if rate is None else [None, None, rate])


def test_a_search_compresses_the_residual_schedules_as_the_paper_does() -> None:
    wide, first, second = (
        recipes(name)["search"] for name in ("wrn-10-4", "resnet-v1-56", "resnet-v2-56")
    )
    assert {recipe.epochs for recipe in (wide, first, second)} == {100}
    assert wide.drops == (30, 60, 80)
    assert first.drops == second.drops == (46, 68)
    assert first.rate_at(0.99) == pytest.approx(0.01)
    assert first.rate_at(1) == pytest.approx(0.1)
    assert wide.rate_at(29.99) == pytest.approx(0.1)
    assert wide.rate_at(30) == pytest.approx(0.02)
    assert first.rate_at(45.99) == pytest.approx(0.1)
    assert first.rate_at(68) == pytest.approx(0.001)


@pytest.mark.parametrize("name", ["wrn-10-4", "resnet-v1-56", "resnet-v2-56"])
def test_a_search_changes_nothing_but_the_schedule(name: str) -> None:
    full, search = recipes(name)["full"], recipes(name)["search"]
    changed = {key for key, value in vars(full).items() if vars(search)[key] != value}
    assert changed == {"epochs", "drops"}


@pytest.mark.parametrize("name", networks())
def test_pau_has_the_set_up_of_its_own_authors(name: str) -> None:
    full, pau = recipes(name)["full"], recipes(name)["pau"]
    assert (pau.epochs, pau.batch, pau.weight_decay) == (200, 64, 5e-4)
    assert pau.activation_rate == 0.01
    assert not pau.nesterov
    assert pau.valid_above == 50
    assert (pau.featurewise, pau.flip, pau.pad) == (full.featurewise, full.flip, full.pad)
    for epoch in (0, 1, 2, 60, 199):
        assert pau.rate_at(epoch) == pytest.approx(0.01 * 0.985**epoch)
        assert pau.rate_at(epoch + 0.99) == pytest.approx(0.01 * 0.985**epoch)


@pytest.mark.parametrize("kind", ["full", "search"])
@pytest.mark.parametrize("name", networks())
def test_only_the_set_up_of_pau_treats_activation_parameters_apart(name: str, kind: str) -> None:
    assert recipes(name)[kind].activation_rate is None
    assert recipes(name)[kind].valid_above == 0


@pytest.mark.parametrize("name", STEPPED)
@given(epochs=st.integers(1, 1000))
@example(epochs=1)
@example(epochs=2)
@example(epochs=3)
@example(epochs=7)
def test_a_compressed_schedule_keeps_its_shape(name: str, epochs: int) -> None:
    full = STEPPED[name]
    short = full.compressed(epochs)
    assert short.epochs == epochs
    before, after = visited(full), visited(short)
    assert [rate for _, rate in after] == [rate for _, rate in before]
    for (old, _), (new, _) in zip(
        before[-len(full.drops) :], after[-len(full.drops) :], strict=True
    ):
        assert abs(new - old) <= 0.5 / epochs + 1 / GRID


@given(epochs=st.integers(1, 1000))
def test_a_warm_up_lasts_an_epoch_but_never_more_than_a_twentieth(epochs: int) -> None:
    short = recipes("resnet-v1-56")["full"].compressed(epochs)
    assert short.warmup == pytest.approx(min(1, 0.05 * epochs))


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.parametrize("epochs", [20, 50, 100, 150, 400])
def test_with_room_enough_the_rate_drops_between_two_epochs(name: str, epochs: int) -> None:
    short = STEPPED[name].compressed(epochs)
    assert all(after == round(after) for after in short.drops)
    assert all(a < b for a, b in pairwise((0, *short.drops, epochs)))


@pytest.mark.parametrize("name", networks())
@pytest.mark.parametrize("kind", ["full", "search", "pau"])
def test_compressing_to_its_own_length_changes_nothing(name: str, kind: str) -> None:
    recipe = recipes(name)[kind]
    assert recipe.compressed(recipe.epochs) == recipe


@pytest.mark.parametrize(("epochs", "points"), [(4, 4), (20, 4), (40, 4), (80, 8)])
def test_a_short_run_is_judged_as_often_as_a_long_one(epochs: int, points: int) -> None:
    full = replace(recipes("wrn-10-4")["full"], epochs=40, judge_every=10)
    assert epochs // full.compressed(epochs).judge_every == points


@pytest.mark.parametrize("epochs", [2, 10, 50, 400])
def test_an_exponential_decay_ends_where_it_did(epochs: int) -> None:
    pau = recipes("wrn-10-4")["pau"]
    short = pau.compressed(epochs)
    for epoch in range(epochs):
        exact = 0.01 * 0.985 ** (200 * epoch / epochs)
        assert short.rate_at(epoch) == pytest.approx(exact)


@pytest.mark.parametrize("epochs", [1, 2, 3, 7, 40, 200])
def test_one_cycle_rises_from_a_25th_to_its_peak_and_falls_to_nothing(epochs: int) -> None:
    recipe = recipes("small-cnn")["full"].compressed(epochs)
    rates = [recipe.rate_at(i / 1000 * epochs) for i in range(1000)]
    peak = rates.index(max(rates))
    assert rates[0] == pytest.approx(recipe.rate / 25)
    assert peak == pytest.approx(300, abs=1)
    assert rates[peak] == pytest.approx(recipe.rate, rel=1e-4)
    assert rates[: peak + 1] == sorted(rates[: peak + 1])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert 0 < rates[-1] < 1e-4 * recipe.rate


@pytest.mark.parametrize("epochs", [1, 2, 3, 7])
def test_a_compressed_one_cycle_is_the_same_curve(epochs: int) -> None:
    full = recipes("small-cnn")["full"]
    short = full.compressed(epochs)
    for i in range(50):
        assert short.rate_at(i / 50 * epochs) == pytest.approx(full.rate_at(i / 50 * full.epochs))


@pytest.mark.parametrize("epochs", [0, -1, 2.5, 3.0, True, "3", float("nan"), None])
def test_a_recipe_cannot_be_compressed_to_less_than_an_epoch(epochs: object) -> None:
    with pytest.raises(PangaeaError, match="at least one epoch") as caught:
        recipes("wrn-10-4")["full"].compressed(epochs)  # type: ignore[arg-type]
    assert repr(epochs) in str(caught.value)

"""Runs as a table: the open one, and those of studies."""

import gzip
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pangaea as pg
from pangaea.errors import PangaeaError
from pangaea.study.runs import COLUMNS, Runs, mark
from tests.study_maker import forge, generalize, make

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def published() -> Runs:
    return pg.bench()


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("bench") / "first.study", 12, population=4, sample=2)


def test_the_open_table_holds_the_rank_audit(published: Runs) -> None:
    lines = (REPOSITORY / "results/rank-audit.jsonl").read_text().splitlines()
    audit = published.where(study="rank-audit")
    scores = {(r["function"], r["epochs"], r["seed"]): r["score"] for r in map(json.loads, lines)}
    kept = zip(audit.function, audit.budget, audit.seed, strict=True)
    assert audit.score.tolist() == [scores[key] for key in kept]


def test_the_repository_has_the_table_among_its_results(published: Runs) -> None:
    assert len(pg.bench(REPOSITORY / "results/runs.csv.gz")) == len(published)


def test_the_marks_of_the_open_table_are_those_of_today(published: Runs) -> None:
    some = published[::100]
    assert some.mark.tolist() == [mark(function) for function in some.function]


def test_the_docs_say_how_well_a_short_run_ranks(capsys: pytest.CaptureFixture[str]) -> None:
    text = (REPOSITORY / "docs/bench.md").read_text(encoding="utf-8")
    first, second, *_ = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(first + second, {})
    count, correlation = capsys.readouterr().out.split()[-2:]
    assert f"# {count} functions, {float(correlation):.2f}\n" in second


def test_the_docs_count_the_open_table(published: Runs) -> None:
    counted = f"{len(published):,} runs of {len(set(published.mark)):,} functions"
    assert counted in (REPOSITORY / "docs/bench.md").read_text(encoding="utf-8")


def test_the_docs_say_how_many_ends_of_curves_are_missing(published: Runs) -> None:
    scored = published[~np.isnan(published.score)]
    shares = [np.isnan(column).mean() for column in (scored.loss, scored.training)]
    assert (
        "of {:.0%} and {:.0%} of the runs".format(*shares)
        in (REPOSITORY / "docs/bench.md").read_text()
    )


def test_runs_know_what_their_functions_cost(published: Runs) -> None:
    runs = published.where(study="wrn-10-4")
    costs = dict(zip(runs.function.tolist(), runs.cost.tolist(), strict=True))
    assert costs["relu(x)"] == 1.0
    assert min(costs.values()) > 0.5
    first = "mul(alpha*negative(swish(beta*selu(x))), hard_sigmoid(gamma*x))"
    assert f"{costs[first]:.1f}" == "6.8"


def test_a_run_of_the_open_table_has_a_score_or_a_reason(published: Runs) -> None:
    assert ((published.failure == "") == ~np.isnan(published.score)).all()


@pytest.mark.parametrize("place", range(0, 31_000, 6_000))
def test_a_mark_is_shared_by_equivalent_functions_alone(published: Runs, place: int) -> None:
    function = published.function[place]
    same = published.where(mark=published.mark[place])
    assert all(pg.equivalent(function, other) for other in set(same.function))
    others = set(published[place : place + 20].function) - set(same.function)
    assert others
    assert not any(pg.equivalent(function, other) for other in others)


def test_runs_are_chosen_by_value_mask_and_place(published: Runs) -> None:
    both = published.where(task="mnist1d", budget=[20, 40])
    assert set(both.budget) == {20, 40}
    assert len(both) == len(both.where(budget=20)) + len(both.where(budget=40))
    good = both[both.score > 80]
    assert 0 < len(good) < len(both)
    assert good.score.min() > 80
    assert both[0].function.tolist() == both[:1].function.tolist() == [both.function[0]]
    assert len(published.where(task="nowhere")) == 0


def test_pooled_runs_are_all_of_them_once(published: Runs) -> None:
    some = published[:300]
    pools = some.pooled()
    assert sum(map(len, pools.values())) == 300
    assert len(pools) == len(set(some.mark)) < len(set(some.function))
    assert all(len(set(pool.mark)) == 1 for pool in pools.values())


def test_an_unknown_column_is_named_with_the_nearest_one(published: Runs) -> None:
    with pytest.raises(pg.PangaeaError, match=r"no column is called 'scores'.*score"):
        published.where(scores=1)


def test_a_study_is_a_table_of_its_runs(study: Path) -> None:
    with pg.open_study(study) as opened:
        rows = opened.runs()
        assert len(pg.bench(opened)) == len(rows)
    runs = pg.bench(study)
    assert runs.stage.tolist() == [row["stage"] for row in rows]
    assert runs.function.tolist() == [row["function"] for row in rows]
    assert set(runs.where(stage="test").part) == {"test"}
    assert set(runs.study) == {"first"}
    trained = runs[runs.failure == ""]
    assert np.isfinite(trained.loss).all()
    assert trained.score.tolist() == [row["score"] for row in rows if row["score"] is not None]
    assert set(runs.where(stage="baseline").candidate) == {0}


def test_what_is_saved_is_read_again(study: Path, tmp_path: Path) -> None:
    runs = pg.bench(study, study)
    for name in ("runs.csv", "runs.csv.gz"):
        runs.save(tmp_path / name)
        again = pg.bench(tmp_path / name)
        assert np.allclose(again.score, runs.score, rtol=1e-5, equal_nan=True)
        assert all((again.columns[c] == runs.columns[c]).all() for c in ("seed", "mark", "failure"))
        before = (tmp_path / name).read_bytes()
        again.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == before
    before = study.read_bytes()
    with pytest.raises(PangaeaError, match="is a study, which is not written over"):
        runs.save(study)
    assert study.read_bytes() == before


def test_functions_that_no_version_wrote_are_the_same_only_as_themselves(tmp_path: Path) -> None:
    runs = pg.bench(forge(tmp_path / "strange.study", ["nonsense(x)", "nonsense(x)", "swish(x)"]))
    found = runs.where(stage="search")
    assert found.mark[0] == found.mark[1] != found.mark[2]


def test_a_study_of_general_functions_is_a_table_on_several_tasks(tmp_path: Path) -> None:
    runs = pg.bench(generalize(tmp_path / "general.study"))
    assert set(runs.task) == {"mnist1d", "other.py:task"}


@pytest.mark.parametrize(
    "content",
    [b"", b"a,b\n1,2\n", b"\x1f\x8bnot gzip", b"\xff\xfe", ",".join(COLUMNS).encode() + b"\n1,2\n"],
)
def test_what_is_no_table_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(pg.PangaeaError, match=r"a\.csv is neither a study nor a table of runs"):
        pg.bench(tmp_path / "a.csv")


def test_a_number_that_is_none_is_refused(study: Path, tmp_path: Path) -> None:
    pg.bench(study).save(tmp_path / "a.csv")
    text = (tmp_path / "a.csv").read_text()
    (tmp_path / "a.csv").write_text(
        re.sub("validation,[0-9.]+,", "validation,good,", text, count=1)
    )
    with pytest.raises(pg.PangaeaError, match="neither a study nor a table"):
        pg.bench(tmp_path / "a.csv")


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(pg.PangaeaError, match=r"nothing\.csv cannot be read: No such file"):
        pg.bench(tmp_path / "nothing.csv")


def test_the_command_puts_every_run_in_the_table_once(study: Path, tmp_path: Path) -> None:
    table = tmp_path / "runs.csv.gz"
    audit = REPOSITORY / "results/rank-audit.jsonl"
    command = [sys.executable, str(REPOSITORY / "benchmarks/runs_table.py"), str(table)]
    for sources in ([study], [table, study, audit]):
        subprocess.run([*command, *map(str, sources)], check=True, timeout=300, cwd=REPOSITORY)
    runs = pg.bench(table)
    assert len(runs.where(study="first")) == len(pg.bench(study))
    assert len(runs.where(study="rank-audit")) == len(audit.read_text().splitlines())
    assert gzip.decompress(table.read_bytes()).startswith(b"task,study,stage")
    assert math.isfinite(runs.loss[-1])

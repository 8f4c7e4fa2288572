"""Commands on studies: search, resume, top, general."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from pangaea.cli.app import app, console, say

Workers = Annotated[
    int | None,
    typer.Option(help="Worker processes; 0 trains in this process. Default: one for each core."),
]
Gpus = Annotated[
    str | None, typer.Option(help="Workers pinned to these GPUs: all, or numbers such as 0,1.")
]
JobsPerGpu = Annotated[
    int | None,
    typer.Option(help="Workers for each GPU. Default: 4 with NVIDIA's MPS and 10 GB each, or 1."),
]
Cluster = Annotated[
    str | None,
    typer.Option(help="slurm, htcondor or a Dask scheduler such as tcp://host:8786."),
]
StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study's file.")]


@app.command()
def search(
    task: Annotated[
        str | None, typer.Option(help="What to search on; `pangaea tasks` lists them.")
    ] = None,
    study: Annotated[
        Path | None, typer.Option(help="The study's file. Default: named after the task.")
    ] = None,
    candidates: Annotated[int | None, typer.Option(help="C: functions to try.")] = None,
    population: Annotated[int | None, typer.Option(help="P: functions that may breed.")] = None,
    sample: Annotated[int | None, typer.Option(help="S: drawn for each parent.")] = None,
    threshold: Annotated[
        float | None, typer.Option(help="V: accuracy in percent below which none breeds.")
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="evolution, thrifty, random-search, nonparametric or random-sampling."),
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="layer, channel or neuron; the paper's choice if not given.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Compress the search recipe's schedule to so many epochs.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of everything that is drawn.")] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which a candidate has failed.")
    ] = None,
    rerank: Annotated[
        bool | None, typer.Option(help="Train the best ten again with the full recipe.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Test runs of each of the best three; 0 for no test.")
    ] = None,
    workers: Workers = None,
    gpus: Gpus = None,
    jobs_per_gpu: JobsPerGpu = None,
    cluster: Cluster = None,
    settings: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings from a TOML file.")
    ] = None,
    print_settings: Annotated[
        bool, typer.Option("--print-settings", help="Print the settings as TOML, and do no more.")
    ] = False,
) -> None:
    """Search for better activation functions, rerank and test the best."""
    from pangaea.study import settings as chosen
    from pangaea.study.search import free_name
    from pangaea.study.search import search as begin

    given = {
        "task": task,
        "candidates": candidates,
        "population": population,
        "sample": sample,
        "threshold": threshold,
        "strategy": strategy,
        "scope": scope,
        "epochs": epochs,
        "seed": seed,
        "timeout": timeout,
        "rerank": rerank,
        "runs": runs,
    }
    wanted = chosen.settings(given, settings)
    if print_settings:
        typer.echo(chosen.toml(wanted), nl=False)
        return
    path = free_name(wanted.task) if study is None else study
    say(f"{wanted.task}: {wanted.candidates} candidates, study {path}")
    where = _where(workers, gpus, jobs_per_gpu, cluster)
    _watched(path, where, lambda **to: begin(study=path, **wanted.as_dict(), **to))


@app.command()
def resume(
    study: StudyFile,
    workers: Workers = None,
    gpus: Gpus = None,
    jobs_per_gpu: JobsPerGpu = None,
    cluster: Cluster = None,
) -> None:
    """Go on with a search where it was stopped."""
    from pangaea.study.search import resume as go_on

    where = _where(workers, gpus, jobs_per_gpu, cluster)
    _watched(study, where, lambda **to: go_on(study, **to))


def _where(
    workers: int | None, gpus: str | None, jobs_per_gpu: int | None, cluster: str | None
) -> dict[str, Any]:
    return {"workers": workers, "gpus": gpus, "jobs_per_gpu": jobs_per_gpu, "cluster": cluster}


def _watched(path: Path, where: dict[str, Any], run: Callable[..., Any]) -> None:
    """Run a search with a display; interrupted, say how to go on."""
    from pangaea.report import formats
    from pangaea.report.terminal import found
    from pangaea.report.terminal.search import display
    from pangaea.study.study import Study

    try:
        with display(console) as watch:
            run(watch=watch, **where).close()
    except KeyboardInterrupt:
        if path.exists():
            say(f"stopped; everything so far is in {path}. To go on:\n\n    {_again(path, where)}")
        sys.exit(130)
    page = path.with_name(path.name.removesuffix(".study") + ".html")
    with Study.open(path) as study:
        console.print(found.table(found.rows(study)), highlight=False)
        formats.write([path], page)
        say(found.advice(study, page))


def _again(path: Path, where: dict[str, Any]) -> str:
    words = ["pangaea", "resume", str(path)]
    for name, value in where.items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join(words)


@app.command()
def top(
    study: StudyFile,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many functions.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print as CSV.")] = False,
) -> None:
    """Show the best functions of a study, finished or running."""
    from pangaea.report.terminal import found
    from pangaea.study.study import Study

    with Study.open(study) as opened:
        rows = found.rows(opened, count)
        if as_json:
            typer.echo(json.dumps(rows, indent=2))
        elif as_csv:
            typer.echo(found.csv(rows), nl=False)
        else:
            console.print(found.table(rows), highlight=False)
            say(found.state(opened))


@app.command()
def general(
    studies: Annotated[list[Path], typer.Argument(metavar="STUDY...", help="Finished studies.")],
    task: Annotated[
        list[str] | None,
        typer.Option(help="A task to judge on; repeat it. Default: the studies' own tasks."),
    ] = None,
    out: Annotated[
        Path, typer.Option(help="Where the runs are kept; the same command goes on with it.")
    ] = Path("general.study"),
    runs: Annotated[int, typer.Option(min=1, help="Runs of each function on each task.")] = 2,
    workers: Workers = None,
    gpus: Gpus = None,
    jobs_per_gpu: JobsPerGpu = None,
    cluster: Cluster = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Find functions that are good on several tasks among the best of several studies."""
    from pangaea.report.terminal import found
    from pangaea.report.terminal.search import display
    from pangaea.study.general import general as judge

    where = _where(workers, gpus, jobs_per_gpu, cluster)
    try:
        with display(console) as watch:
            rows = judge(studies, task or None, out=out, runs=runs, watch=watch, **where)
    except KeyboardInterrupt:
        say(f"stopped; the runs so far are in {out}: the same command goes on")
        sys.exit(130)
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    console.print(found.general_table(rows), highlight=False)
    say(
        "\nMean validation accuracy in percent with the full recipe. General: no other function is "
        "as good on every task and better on one, it is no baseline, and no study chose it before."
    )

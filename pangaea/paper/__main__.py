"""`python -m pangaea.paper`: run, add and export where only torch, NumPy and Dask are."""

import argparse
import sys
from collections.abc import Callable

from pangaea.errors import PangaeaError
from pangaea.paper import adding, lines, running
from pangaea.paper.contents import experiments
from pangaea.paper.scales import SCALES
from pangaea.settings import declarations
from pangaea.study.study import Study
from pangaea.training.how import PRECISIONS
from pangaea.wording import counted
from pangaea.workers.place import Place


def main() -> None:
    options = vars(_parser().parse_args())
    try:
        print(_COMMANDS[options.pop("command")](**options), flush=True)
    except PangaeaError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)


def _run(name: str, **given: object) -> str:
    given = {option: value for option, value in given.items() if value is not None}
    outcome = running.run(name, **given)  # type: ignore[arg-type]
    stopped = "" if outcome.in_time else "; the minutes are over, the same command goes on"
    return f"{outcome.done} of {outcome.total} runs of {name} are there{stopped}"


def _add(files: list[str], study: str) -> str:
    became = adding.add(files, study)
    left_out = "".join(f"\nleft out: {n} ({why})" for why, n in became.left_out.items())
    return f"{counted(became.added, 'run')} added, {became.there} there before{left_out}"


def _export(out: str, study: str) -> str:
    with Study.open(study) as opened:
        return f"{counted(lines.write(out, lines.of_study(opened)), 'run')} written to {out}"


_COMMANDS: dict[str, Callable[..., str]] = {"run": _run, "add": _add, "export": _export}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pangaea.paper", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run what is missing of an experiment")
    run.add_argument("name", metavar="NAME", help=", ".join(experiments()))
    run.add_argument("--scale", choices=[*SCALES], default="paper")
    run.add_argument("--runs", type=int)
    run.add_argument("--minutes", type=float)
    run.add_argument("--only", action="append", metavar="TEXT")
    run.add_argument("--log", metavar="FILE", help="every result also as a line of this file")
    run.add_argument("--commit", help="of the code, where it is no checkout")
    run.add_argument("--precision", choices=PRECISIONS)
    for declared in declarations(Place):
        run.add_argument(declared.option, type=declared.kind, help=declared.help)
    add = commands.add_parser("add", help="take over runs of other files")
    add.add_argument("files", nargs="+")
    export = commands.add_parser("export", help="write the runs as lines of plain text")
    export.add_argument("out")
    for command in (run, add, export):
        command.add_argument("--study", default=adding.STUDY)
    return parser


if __name__ == "__main__":
    main()

"""What a unit of every task's budget takes with its baseline: the table behind `pangaea tasks`.

    python benchmarks/tasks.py "one core of an AMD EPYC at 2.4 GHz" [TASK …]

Writes pangaea/tasks/overview.json: what all tasks are, and the seconds of these (or of all) on this
machine, to which the first argument gives a name; other figures stay. The beginning of a run is
measured; of large networks on the CPU, steps of a few images. On the CPU it is this process's own
time, so that whatever else the machine does has no say.
"""

import argparse
import contextlib
import json
import time

import torch
from training import with_data

import pangaea as pg
from pangaea.tasks import overview
from pangaea.tasks.classification import Classification
from pangaea.tasks.task import Task
from pangaea.training.how import How
from pangaea.training.train import surroundings

SECONDS = 3.0  # of a run at least, and two steps
IMAGES = 8  # of a step on the CPU


class EnoughError(Exception):
    """The beginning of a run was seen."""


def unit_seconds(task: Task, device: str) -> float:
    """What a unit of budget takes, from a run's beginning without its first step."""
    seen: list[tuple[float, float]] = []  # when, and what part was done

    def tell(share: float) -> None:
        if device == "cuda":
            torch.cuda.synchronize()
        seen.append((time.perf_counter() if device == "cuda" else time.process_time(), share))
        if len(seen) > 2 and seen[-1][0] - seen[0][0] > SECONDS:
            raise EnoughError

    budget = task.budgets["search"]
    with contextlib.suppress(EnoughError):
        task.train(task.baseline, None, budget, 0, "validation", tell, How(device=device))
    (began, first), *_, (ended, last) = seen
    return (ended - began) / (last - first) / budget


def image_seconds(task: Classification) -> float:
    """The same on the CPU from a few steps, where a whole batch would take half a minute."""
    model = task.build(task.baseline)
    inputs, labels = (
        torch.rand(IMAGES, *task.data_set.shape),
        torch.zeros(IMAGES, dtype=torch.int64),
    )
    times = []
    with surroundings(torch.device("cpu")):
        for _ in range(3):  # the first loads libraries
            started = time.process_time()
            task.loss(model(inputs), labels).backward()
            times.append(time.process_time() - started)
    return min(times) * task.data_set.sizes[0] / IMAGES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machine", help="what this machine is called")
    parser.add_argument(
        "tasks", nargs="*", help="which are measured; the others keep their figures"
    )
    options = parser.parse_args()
    kind, device = ("gpu", "cuda") if torch.cuda.is_available() else ("cpu", "cpu")
    before = json.loads(overview.TABLE.read_text()) if overview.TABLE.exists() else {}
    known = {row["task"]: row["seconds"] for row in before.get("tasks", [])}
    tasks, measured = [], {}
    for name in pg.tasks():
        task = pg.task(name)
        seconds = known.get(name, {})
        wanted = not options.tasks or name in options.tasks
        if wanted and (device == "cpu" or task.fast_on_gpu):
            # A network takes as long on one data set of images as on another.
            alike = getattr(task, "network", name)
            if alike not in measured:
                images = isinstance(task, Classification) and task.fast_on_gpu
                if images and device == "cpu":
                    seconds_each = image_seconds(task)
                else:
                    seconds_each = unit_seconds(with_data(task) if images else task, device)
                measured[alike] = float(f"{seconds_each:.3g}")
                print(f"{name:24} {measured[alike]:10.3f} s", flush=True)
            seconds = seconds | {kind: measured[alike]}
        tasks.append(overview.described(task) | {"seconds": seconds})
    machines = before.get("machines", {}) | {kind: options.machine}
    table = {"machines": machines, "modules": overview.modules(), "tasks": tasks}
    overview.TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

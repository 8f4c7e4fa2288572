"""Where an epoch's time goes on a GPU: augmentation, the captured step, validation, kernels.

python benchmarks/epoch_parts.py [--task TASK] [--function relu] [--compile] [--plain-norms]
"""

import argparse
import time

import torch
from torch.profiler import ProfilerActivity, profile
from training import our_run, with_data

import pangaea as pg
from pangaea.activation.normalized import fuse


def timed(name: str, work, repeats: int) -> None:
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(repeats):
        work()
    torch.cuda.synchronize()
    print(f"{name:24} {1000 * (time.perf_counter() - started) / repeats:9.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="wrn-10-4/cifar100")
    parser.add_argument("--function", default="relu")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--plain-norms", action="store_true", help="torch's batch norm")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    task = with_data(pg.task(options.task))
    run = our_run(task, options.function, torch.device("cuda", 0), options.compile)
    fuse(run.model, not options.plain_norms)
    while run.epoch < 1:
        run.advance()
    run._begin_epoch()
    with run._context():
        timed("refill", lambda: run.batches.refill(run.generator), 5)
        timed("validation", lambda: run._score(run._validation), 5)
        run.model.train()
        run.place.zero_()
        run.taken.zero_()
        timed("step (graph)", run._graph.replay, 300)
        run.place.zero_()
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            for _ in range(20):
                run._graph.replay()
            torch.cuda.synchronize()
    print(
        seen.key_averages().table(sort_by="cuda_time_total", row_limit=25, max_name_column_width=70)
    )


if __name__ == "__main__":
    main()

"""The paper's searches: three networks, two other strategies, four more on one network, samples."""

from pangaea.paper.contents import Search

_WRN, _V1, _V2 = (f"{net}/cifar100" for net in ("wrn-10-4", "resnet-v1-56", "resnet-v2-56"))
_EVOLUTION = {"strategy": "evolution", "candidates": 1000, "population": 64, "sample": 16}

# Each has a seed of its own: with the same one they would begin with the same functions.
MAIN = tuple(
    Search(task.partition("/")[0], task, _EVOLUTION | {"seed": seed})
    for seed, task in enumerate((_WRN, _V1, _V2))
)

STRATEGIES = (
    MAIN[0],
    Search("random-search", _WRN, {"strategy": "random-search", "candidates": 1000, "seed": 3}),
    Search("nonparametric", _WRN, _EVOLUTION | {"strategy": "nonparametric", "seed": 4}),
)

ALL_CNN_C = (Search("all-cnn-c", "all-cnn-c/cifar10", _EVOLUTION | {"seed": 5}),)

# Section 7: from scratch, twice as long, and tested in three runs.
RELIABILITY = tuple(
    Search(name, _V1, _EVOLUTION | {"candidates": 2000, "scope": scope, "seed": seed, "runs": 3})
    for name, scope, seed in (
        ("per-layer", "layer", 6),
        ("per-channel-1", "channel", 7),
        ("per-channel-2", "channel", 8),
        ("per-neuron", "neuron", 9),
    )
)

# Every function is trained once with the full schedule, the best once more for their test.
SAMPLES = tuple(
    Search(
        f"sample-{scope}",
        _V1,
        {
            "strategy": "random-sampling",
            "candidates": 500,
            "scope": scope,
            "seed": seed,
            "budget": 200,
            "rerank": False,
            "runs": 1,
        },
    )
    for seed, scope in enumerate(("layer", "channel", "neuron"), 10)
)

"""The paper's searches: three networks, two other strategies, four more on one network, samples."""

from pangaea.paper.contents import Search

_WRN, _V1, _V2 = (f"{net}/cifar100" for net in ("wrn-10-4", "resnet-v1-56", "resnet-v2-56"))
_EVOLUTION = {"strategy": "evolution", "candidates": 1000, "population": 64, "sample": 16}

MAIN = tuple(Search(task.partition("/")[0], task, _EVOLUTION) for task in (_WRN, _V1, _V2))

STRATEGIES = (
    MAIN[0],
    Search("random-search", _WRN, {"strategy": "random-search", "candidates": 1000}),
    Search("nonparametric", _WRN, _EVOLUTION | {"strategy": "nonparametric"}),
)

ALL_CNN_C = (Search("all-cnn-c", "all-cnn-c/cifar10", _EVOLUTION),)

# Section 7: from scratch, and twice as long.
RELIABILITY = tuple(
    Search(name, _V1, _EVOLUTION | {"candidates": 2000, "scope": scope, "seed": seed})
    for name, scope, seed in (
        ("per-layer", "layer", 1),
        ("per-channel-1", "channel", 1),
        ("per-channel-2", "channel", 2),
        ("per-neuron", "neuron", 1),
    )
)

# Every function is trained once, and nothing is tested again.
SAMPLES = tuple(
    Search(
        f"sample-{scope}",
        _V1,
        {
            "strategy": "random-sampling",
            "candidates": 500,
            "scope": scope,
            "budget": 200,
            "rerank": False,
            "runs": 1,
        },
    )
    for scope in ("layer", "channel", "neuron")
)

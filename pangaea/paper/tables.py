"""The paper's tables. Those of accuracies are read from the catalog, row by row."""

from pangaea.paper import searches
from pangaea.paper.contents import Experiment, printed

TABLES = (
    Experiment(
        name="operators",
        kind="table",
        caption="The operator search space: 27 unary and 7 binary operators.",
    ),
    Experiment(
        name="results",
        kind="table",
        caption="CIFAR-100 test accuracy of specialized, general, fixed, parametric and learnable "
        "functions on three networks.",
        cells=printed("results"),
    ),
    Experiment(
        name="search_strategy",
        kind="table",
        caption="PANGAEA discovers better functions than random search and nonparametric "
        "evolution (WRN-10-4).",
        cells=printed("search_strategy"),
        searches=searches.STRATEGIES,
    ),
    Experiment(
        name="disable_parameters",
        kind="table",
        caption="Evolved functions with their parameters and without.",
        cells=printed("disable_parameters"),
    ),
    Experiment(
        name="parametric_baseline",
        kind="table",
        caption="Parameters added to fixed functions do not substantially improve them.",
        cells=printed("parametric_baseline"),
    ),
    Experiment(
        name="scale_up",
        kind="table",
        caption="Specialized functions in larger versions of their networks.",
        cells=printed("scale_up"),
    ),
    Experiment(
        name="allcnnc",
        kind="table",
        caption="All-CNN-C on CIFAR-10: another network and another data set.",
        cells=printed("allcnnc"),
        searches=searches.ALL_CNN_C,
    ),
    Experiment(
        name="resnetv1_lcn",
        kind="table",
        caption="The best functions of several searches on ResNet-v1-56, with parameters per "
        "layer, channel and neuron.",
        cells=printed("resnetv1_lcn"),
        searches=searches.RELIABILITY,
    ),
    Experiment(
        name="random_samples",
        kind="table",
        caption="The best of 500 random functions for each scope (the last rows of resnetv1_lcn).",
        cells=tuple(c for c in printed("resnetv1_lcn") if c.group == "random-sample"),
        searches=searches.SAMPLES,
    ),
    Experiment(
        name="prelu_lcn",
        kind="table",
        caption="PReLU with a parameter for each layer, channel or neuron.",
        cells=printed("prelu_lcn"),
    ),
    Experiment(
        name="pau_specialized_setup",
        kind="table",
        caption="PAU with a training set-up of its own; runs that fail are left out of the mean.",
        cells=tuple(
            cell._replace(task=f"{cell.task}/pau") for cell in printed("pau_specialized_setup")
        ),
    ),
    Experiment(
        name="space",
        kind="table",
        caption="How many functions computation graphs of one to seven nodes represent.",
    ),
)

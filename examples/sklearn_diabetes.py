"""Regression of scikit-learn's diabetes data by a perceptron, without a training loop of one's own.

pangaea search --task examples/sklearn_diabetes.py:task
"""

import torch
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler
from torch import nn

import pangaea as pg

rows, progress = load_diabetes(return_X_y=True)
order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).numpy()
first = order[:200]  # what is scaled with knows nothing of the others
x = torch.from_numpy(StandardScaler().fit(rows[first]).transform(rows)).float()
y = torch.from_numpy((progress - progress[first].mean()) / progress[first].std()).float()[:, None]


def build(activation):
    return nn.Sequential(
        nn.Linear(10, 32), activation(), nn.Linear(32, 32), activation(), nn.Linear(32, 1)
    )


def explained(outputs, targets):
    """R², in percent."""
    left = (outputs - targets).square().sum()
    return 100 * (1 - left / (targets - targets.mean()).square().sum())


task = pg.fit_task(
    "sklearn-diabetes",
    model=build,
    train=(x[first], y[first]),
    validation=(x[order[200:320]], y[order[200:320]]),
    test=(x[order[320:]], y[order[320:]]),
    loss=nn.functional.mse_loss,
    metric=explained,
    goal=pg.maximize("R²", unit="%", failure=0, digits=1),
    budgets={"search": 10, "full": 30},
    rate=1e-2,
    batch=50,
    weight_decay=0.3,
    fast_on_gpu=False,
)

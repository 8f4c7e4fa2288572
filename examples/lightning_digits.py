"""A Lightning module: handwritten digits of scikit-learn, a small CNN without norm layers.

pangaea search --task examples/lightning_digits.py:task
"""

import logging

import lightning
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import pangaea as pg

logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
images, labels = (torch.from_numpy(values) for values in load_digits(return_X_y=True))
images = (images.float() / 16 - 0.3).view(-1, 1, 8, 8)
RATE = 2e-2  # the best of three for ReLU on validation data
PARTS = {"training": slice(0, 600), "validation": slice(600, 1000), "test": slice(1000, None)}


class Digits(lightning.LightningModule):
    def __init__(self, activation):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            activation(shape=(16, 8, 8)),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            activation(shape=(32, 4, 4)),
            nn.Flatten(),
            nn.Linear(512, 10),
        )

    def training_step(self, batch, index):
        x, y = batch
        return F.cross_entropy(self.layers(x), y)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(pg.parameter_groups(self, weight_decay=0.01))
        steps = self.trainer.estimated_stepping_batches
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
        return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    def accuracy(self, part):
        self.eval()
        with torch.no_grad():
            outputs = self.layers(images[PARTS[part]].to(self.device)).cpu()
        return 100 * (outputs.argmax(1) == labels[PARTS[part]]).float().mean().item()


def train(activation, budget, seed, part, device):
    some = PARTS["training"]
    loader = DataLoader(TensorDataset(images[some], labels[some]), batch_size=50, shuffle=True)
    model = Digits(activation)
    trainer = lightning.Trainer(
        max_epochs=budget,
        accelerator=device.type,
        devices=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, loader)
    scores = {"score": model.accuracy("validation")}
    return scores | ({"test": model.accuracy("test")} if part == "test" else {})


task = pg.Task(
    "lightning-digits",
    train,
    goal=pg.maximize("accuracy", unit="%", failure=10, threshold=20, digits=2),
    budgets={"search": 4, "full": 12},
    fast_on_gpu=False,
)

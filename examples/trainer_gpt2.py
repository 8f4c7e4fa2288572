"""A small GPT-2 from random weights, trained by transformers' Trainer on Python's own source.

pangaea search --task examples/trainer_gpt2.py:task
"""

import math
import sysconfig
import tempfile
from pathlib import Path

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from transformers.trainer_callback import PrinterCallback

import pangaea as pg

CONTEXT = 32  # bytes
CONFIG = GPT2Config(
    vocab_size=256,
    n_positions=CONTEXT,
    n_embd=32,
    n_layer=2,
    n_head=2,
    bos_token_id=0,
    eos_token_id=0,
)


def windows(*names: str) -> list[dict[str, torch.Tensor]]:
    """The bytes of these files, cut into windows that are to be continued."""
    source = b"".join(Path(sysconfig.get_path("stdlib"), name).read_bytes() for name in names)
    rows = torch.tensor(list(source))[: len(source) // CONTEXT * CONTEXT].view(-1, CONTEXT)
    return [{"input_ids": row, "labels": row} for row in rows]


def train(activation, budget, seed, part, device):
    model = GPT2LMHeadModel(CONFIG)
    example = {"input_ids": torch.zeros(1, CONTEXT, dtype=torch.long)}
    pg.replace_activations(model, activation.function, activation.scope, example)
    optimizer = torch.optim.AdamW(pg.parameter_groups(model, weight_decay=0.1), lr=5e-3)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            folder,
            max_steps=50 * budget,
            per_device_train_batch_size=16,
            per_device_eval_batch_size=128,
            lr_scheduler_type="cosine",
            warmup_steps=5 * budget,
            seed=seed,
            use_cpu=device.type == "cpu",
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        trainer = Trainer(
            model,
            arguments,
            train_dataset=windows("argparse.py", "inspect.py", "tarfile.py", "typing.py"),
            optimizers=(optimizer, None),
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        return {
            key: trainer.evaluate(windows(file)[::4])["eval_loss"] / math.log(2)
            for key, file in (("score", "shutil.py"), ("test", "ssl.py"))
            if key == "score" or part == "test"
        }


task = pg.Task(
    "trainer-gpt2",
    train,
    goal=pg.minimize("bits per byte", failure=8, threshold=5, digits=3),
    baseline="gelu",  # the tanh form, as GPT-2 has it
    budgets={"search": 1, "full": 4},
    unit="times 50 steps",
)

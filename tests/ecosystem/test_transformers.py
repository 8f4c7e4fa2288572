"""transformers' models with random weights, their activations replaced."""

import copy
import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

import pangaea as pg

pytestmark = [pytest.mark.ecosystem, pytest.mark.filterwarnings("ignore")]  # theirs, not ours

transformers = pytest.importorskip("transformers", reason="transformers is not installed")

FUNCTION = "alpha*x - beta*log(sigmoid(gamma*x))"
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
WORDS = {"vocab_size": 50, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}


def bert() -> nn.Module:
    return transformers.BertForSequenceClassification(transformers.BertConfig(**WORDS, **SIZES))


def gpt2() -> nn.Module:
    config = transformers.GPT2Config(**WORDS, n_embd=16, n_layer=2, n_head=2, n_positions=16)
    return transformers.GPT2LMHeadModel(config)


def llama() -> nn.Module:
    config = transformers.LlamaConfig(**WORDS, **SIZES, num_key_value_heads=2)
    return transformers.LlamaForCausalLM(config)


def vit() -> nn.Module:
    config = transformers.ViTConfig(image_size=8, patch_size=4, **SIZES)
    return transformers.ViTForImageClassification(config)


# Which activations are replaced, by how their paths end, and the channels that they have.
MODELS: dict[Callable[[], nn.Module], tuple[int, int, str, str]] = {
    bert: (3, 24, "GELUActivation", ""),
    gpt2: (2, 64, "NewGELUActivation", ""),
    llama: (2, 24, "SiLUActivation", "the gate of a gated unit"),
    vit: (2, 24, "GELUActivation", ""),
}
Case = tuple[Callable[[], nn.Module], nn.Module, dict[str, Tensor]]


@pytest.fixture(params=MODELS, ids=lambda make: make.__name__)
def case(request: pytest.FixtureRequest) -> Case:
    make = request.param
    if make is vit:
        return make, make().eval(), {"pixel_values": torch.randn(4, 3, 8, 8)}
    return make, make().eval(), {"input_ids": torch.randint(3, 50, (4, 7))}


def logits(model: nn.Module, inputs: dict[str, Tensor]) -> Tensor:
    result: Tensor = model(**inputs).logits
    return result


def test_every_activation_is_found_with_its_channels(case: Case) -> None:
    make, model, inputs = case
    report = pg.replace_activations(model, FUNCTION, example=inputs)
    count, channels, kind, note = MODELS[make]
    assert len(report) == count
    for row in report.replaced[:2]:
        assert (row.channels, row.channel_dim, row.before, row.note) == (channels, -1, kind, note)


def test_a_function_by_itself_changes_nothing_but_rounding(case: Case) -> None:
    make, model, inputs = case
    before, keys = logits(model, inputs), [*model.state_dict()]
    same, which = ("swish" if make is llama else "gelu"), ("*act*fn", "*.mlp.act")
    pg.replace_activations(model, same, example=inputs, which=which)
    assert [*model.state_dict()] == keys
    torch.testing.assert_close(logits(model, inputs), before, rtol=1e-3, atol=1e-3)


def test_training_reduces_the_loss(case: Case) -> None:
    _, model, inputs = case
    pg.replace_activations(model, FUNCTION, example=inputs)
    labels = inputs.get("input_ids", torch.zeros(4, 7).long())
    if logits(model, inputs).dim() == 2:
        labels = torch.tensor([0, 1, 0, 1])
    optimizer = torch.optim.Adam(pg.parameter_groups(model), lr=1e-2)
    losses = []
    for _ in range(20):
        loss = model(**inputs, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


def test_copies_averages_state_dicts_and_files_work(case: Case) -> None:
    make, model, inputs = case
    pg.replace_activations(model, FUNCTION, example=inputs)
    expected = logits(model, inputs)
    assert torch.equal(logits(copy.deepcopy(model), inputs), expected)
    averaged = AveragedModel(model)
    averaged.update_parameters(model)
    assert torch.equal(averaged(**inputs).logits, expected)
    other = make().eval()
    pg.replace_activations(other, FUNCTION, example=inputs)
    other.load_state_dict(model.state_dict())
    assert torch.equal(logits(other, inputs), expected)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    assert torch.equal(logits(torch.load(file, weights_only=False), inputs), expected)


def test_autocast_works(case: Case) -> None:
    _, model, inputs = case
    pg.replace_activations(model, FUNCTION, example=inputs)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = logits(model, inputs)
    y.float().square().sum().backward()
    activations = [module for module in model.modules() if isinstance(module, pg.Activation)]
    assert all(a.alpha.grad is not None and a.alpha.grad.isfinite().all() for a in activations)


def test_compile_keeps_values(case: Case) -> None:
    _, model, inputs = case
    pg.replace_activations(model, FUNCTION, example=inputs)
    compiled = torch.compile(model, backend="aot_eager")
    torch.testing.assert_close(compiled(**inputs).logits, logits(model, inputs))


class Logits(nn.Module):
    """A model's logits alone: exporters want tensors."""

    def __init__(self, model: nn.Module, name: str) -> None:
        super().__init__()
        self.model, self.name = model, name

    def forward(self, x: Tensor) -> Tensor:
        options: dict[str, Any] = {} if self.name == "pixel_values" else {"use_cache": False}
        if isinstance(self.model, transformers.BertForSequenceClassification):
            options = {}
        result: Tensor = self.model(**{self.name: x}, **options).logits
        return result


def test_export_and_onnx_keep_values(case: Case) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    _, model, inputs = case
    pg.replace_activations(model, FUNCTION, example=inputs)
    (name, x), *_ = inputs.items()
    alone = Logits(model, name).eval()
    expected = alone(x).detach()
    exported = torch.export.export(alone, (x,))
    torch.testing.assert_close(exported.module()(x), expected)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(alone, (x,), dynamo=True, verbose=False)
    assert program is not None
    session = runtime.InferenceSession(program.model_proto.SerializeToString())
    (given,) = session.get_inputs()
    (values,) = session.run(None, {given.name: x.numpy()})
    np.testing.assert_allclose(values, expected.numpy(), rtol=1e-3, atol=1e-4)

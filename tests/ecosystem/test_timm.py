"""timm's models with random weights, their activations replaced."""

import pytest
import torch

import pangaea as pg

pytestmark = [pytest.mark.ecosystem, pytest.mark.filterwarnings("ignore")]

# A torchvision that does not fit torch raises RuntimeError.
try:
    import timm
except (ImportError, RuntimeError) as error:
    pytest.skip(f"timm cannot be imported: {error}", allow_module_level=True)

MODELS = [
    ("resnet18", 17, 0, {}),
    ("mobilenetv3_small_100", 33, 9, {}),
    ("convnext_atto", 12, 0, {}),
    ("vit_tiny_patch16_224", 12, 0, {"img_size": 64}),
]


@pytest.mark.parametrize(("name", "replaced", "left", "options"), MODELS)
def test_every_activation_is_found(name: str, replaced: int, left: int, options: dict) -> None:
    model = timm.create_model(name, pretrained=False, **options)
    x = torch.randn(2, 3, 64, 64)
    report = pg.replace_activations(model, "alpha*x - beta*log(sigmoid(gamma*x))", example=x)
    assert (len(report), len(report.left)) == (replaced, left)
    model(x).sum().backward()
    activations = [module for module in model.modules() if isinstance(module, pg.Activation)]
    assert all(a.alpha.grad is not None for a in activations)

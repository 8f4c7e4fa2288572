"""Every test starts from the same seed, on one thread."""

import pytest
import torch
from hypothesis import settings

settings.register_profile("pangaea", deadline=None, derandomize=True)
settings.load_profile("pangaea")


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)

"""Every test starts from the same seed, on one thread."""

import signal

import pytest
import torch
from hypothesis import settings

pytest_plugins = ("tests.browser", "tests.data.fixtures", "tests.study.fixtures")

settings.register_profile("pangaea", deadline=None, derandomize=True)
settings.load_profile("pangaea")


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


# A shell that runs the tests in the background has Ctrl-C ignored, and every process they start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

"""What the tests share."""

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import evener as ev

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def noise():
    """Arrays of noise: noise(shape, dtype, seed)."""

    def make(shape, dtype=np.uint8, seed=1):
        generator = np.random.default_rng(seed)
        if dtype == np.float32:
            return generator.random(shape, dtype=np.float32)
        top = 1024 if dtype == np.uint16 else 256
        return generator.integers(0, top, shape, dtype=dtype)

    return make


@pytest.fixture(scope="session")
def command():
    """The command `evener`, which another build of the same sources made."""
    found = os.environ.get("EVENER_COMMAND") or shutil.which("evener")
    if not found:
        pytest.skip("no command evener; name one in EVENER_COMMAND")
    return found


@pytest.fixture
def script():
    """Runs Python code in a process of its own: script(code, timeout=60)."""

    def run(code, timeout=60, check=True):
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout, check=check
        )

    return run


@pytest.fixture(autouse=True)
def nothing_kept():
    """No stream is kept from one test to the next."""
    yield
    ev.close_idle()

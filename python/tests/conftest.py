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


SKIPPED = []


def skipped(report):
    """Remembers a test, or a file of tests, that is skipped."""
    if report.skipped and not hasattr(report, "wasxfail"):
        SKIPPED.append(f"evener-python {report.nodeid}: {report.longrepr[2].removeprefix('Skipped: ')}\n")


def pytest_runtest_logreport(report):
    skipped(report)


def pytest_collectreport(report):
    skipped(report)


def pytest_sessionfinish(session):
    """As in the tests of the crates: `./ci.sh` names at its end what was skipped, and EVENER_NO_SKIP=1 refuses that."""
    if os.environ.get("EVENER_SKIPPED"):
        with open(os.environ["EVENER_SKIPPED"], "a") as file:
            file.writelines(SKIPPED)
    if SKIPPED and os.environ.get("EVENER_NO_SKIP") == "1":
        print(*SKIPPED, "EVENER_NO_SKIP=1 makes that a failure", sep="")
        session.exitstatus = 1


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

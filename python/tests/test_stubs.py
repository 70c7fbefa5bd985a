"""Stubs, types and examples."""

import pathlib
import subprocess
import sys
from importlib.util import find_spec

import pytest

import evener as ev
from evener import _stubs

PACKAGE = pathlib.Path(ev.__file__).parent
EXAMPLES = sorted((pathlib.Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


def test_stubs_are_those_of_the_filters():
    wrong = "not what `python -m evener._stubs` writes; CONTRIBUTING.md, A filter, has the commands"
    written = (PACKAGE / "_evener.pyi").read_text()
    assert written == _stubs.stubs(written), wrong
    assert (PACKAGE / "_operators.pyi").read_text() == _stubs.package(), wrong


def test_the_package_is_typed(tmp_path):
    pytest.importorskip("mypy")
    user = tmp_path / "user.py"
    user.write_text(
        """
import evener as ev

graph: ev.Graph = ev.blur().sobel().threshold(0.25).crop(0.5).crop(w=1, h=2, x=3, y=4)
name: str = str(ev.graph("blur").rotate(12))
sealed: bytes = ev.encrypt(b"text", key=ev.Key.generate())
report: ev.Report = ev.encrypt("in", "out", passphrase="text")
count: int = ev.queens(8)
graph.blurr()  # type: ignore[attr-defined]
ev.threshold([1])  # type: ignore[arg-type]
"""
    )
    checks = [
        ["-m", "mypy", "--strict", "--warn-unused-ignores", str(user)],
        ["-m", "mypy", "--strict", "-p", "evener"],
        ["-m", "mypy.stubtest", "evener", "--ignore-missing-stub", "--allowlist", str(tmp_path / "allowed")],
    ]
    # What needs Ray says so when it is imported.
    (tmp_path / "allowed").write_text("" if find_spec("ray") else "evener\\.ray.*\n")
    for check in checks:
        done = subprocess.run([sys.executable, *check], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr


def test_everything_is_documented():
    for name in ev.__all__:
        assert getattr(ev, name).__doc__, name
    for of in [ev.Graph, ev.Stream, ev.Image, ev.Key, ev.Source, ev.Report]:
        for name in dir(of):
            if not name.startswith("_"):
                assert getattr(of, name).__doc__, f"{of.__name__}.{name}"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path, tmp_path):
    if path.name == "cluster.py" and not find_spec("ray"):
        pytest.skip("Ray is not installed; ./ci.sh ray installs it")
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_docstrings_are_true():
    import doctest

    from evener import _queens

    for module in [ev, _queens]:
        assert doctest.testmod(module, extraglobs={"queens": ev.queens}).failed == 0

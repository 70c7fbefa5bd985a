"""Signals, forks and the end of the interpreter, in processes of their own."""

import signal
import subprocess
import sys
import time

import pytest

RUNS = {
    "call": "ev.rotate(3).undistort()(big)",
    "map": "for _ in s.map(itertools.repeat(frame)): pass",
    "pull": "s.pull()",
    "push": "while True: s.push(frame)",
    "queens": "ev.queens(20)",
    "read": "ev.read('testsrc:1920x1080:100000').pipe('rotate=3').write('null:')",
}

BEGIN = """
import itertools, numpy as np, os, sys, time
import evener as ev
frame = np.zeros((1080, 1920), np.uint8)
"""


@pytest.mark.parametrize("name", RUNS)
def test_ctrl_c_ends_a_run(name):
    code = (
        BEGIN
        + f"""
big = np.broadcast_to(frame, (600, 1080, 1920))
for _ in range(3):
    s = ev.rotate(3).open(1080, 1920)
    print("ready", flush=True)
    try:
        {RUNS[name]}
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
        s.cancel()
"""
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    took = []
    for _ in range(3):
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        took.append(float(process.stdout.readline()) - sent)
    assert process.wait(30) == 0, "it was not interrupted"
    # A machine with other work takes longer, but not each time.
    assert min(took) < 0.1 and max(took) < 0.6, took


def test_a_child_of_a_fork_opens_streams_of_its_own(script):
    done = script(
        BEGIN
        + """
import warnings; warnings.simplefilter("ignore")
small = np.random.default_rng(1).integers(0, 256, (48, 64), dtype=np.uint8)
graph = ev.blur()
expected = graph(small)
stream = graph.open(48, 64)
stream.push(small)
for _ in range(3):
    child = os.fork()
    if child == 0:
        assert np.array_equal(graph(small), expected)
        assert graph(small, out=np.zeros_like(small)) is not None
        try:
            stream.pull()
        except ev.Closed as error:
            assert "forked" in str(error)
        else:
            os._exit(3)
        assert stream.closed and stream.close() is None
        with graph.open(48, 64) as own:
            assert np.array_equal(own(small), expected)
        del stream
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(graph(small), expected)
assert np.array_equal(stream.pull(), expected)
print("whole")
"""
    )
    assert done.stdout == "whole\n"


def test_forks_during_runs_of_other_threads(script):
    done = script(
        BEGIN
        + """
import signal, threading, warnings; warnings.simplefilter("ignore")
small = np.random.default_rng(1).integers(0, 256, (48, 64), dtype=np.uint8)
many, graph, key = np.stack([small] * 50), ev.blur(), ev.Key.generate()
expected, stop = graph(small), threading.Event()
ev.encrypt(bytes(1 << 20), key=key)

def opened():
    with graph.open(48, 64) as own:
        return own(small)

works = [lambda: graph(small), lambda: graph(many), opened, lambda: ev.encrypt(bytes(1 << 18), key=key)]

def again(work):
    while not stop.is_set():
        work()

threads = [threading.Thread(target=again, args=(work,)) for work in works]
[thread.start() for thread in threads]
for number in range(8):
    time.sleep(0.003 * number % 0.02)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        whole = np.array_equal(graph(small), expected) and np.array_equal(opened(), expected)
        os._exit(not whole)
    assert os.waitpid(child, 0)[1] == 0, number
stop.set()
[thread.join() for thread in threads]
assert np.array_equal(graph(small), expected)
print("whole")
""",
        timeout=100,
    )
    assert done.stdout == "whole\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(tmp_path, method):
    code = f"""
import multiprocessing, numpy as np, warnings
import evener as ev
warnings.simplefilter("ignore")
frames = np.random.default_rng(1).integers(0, 256, (6, 48, 64), dtype=np.uint8)
graph = ev.blur().sobel()

def work(job):
    graph, frame = job
    return graph(frame)

if __name__ == "__main__":
    expected = graph(frames)
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        results = pool.map(work, [(graph, frame) for frame in frames])
    assert np.array_equal(np.stack(results), expected)
    print("whole")
"""
    path = tmp_path / "work.py"
    path.write_text(code)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    assert done.stdout == "whole\n", done.stderr


@pytest.mark.parametrize(
    "end", ["", "s.push(small)", "s.push(small); del s", "threading.Thread(target=s.pull, daemon=True).start()"]
)
def test_the_interpreter_ends_with_streams_open(script, end):
    done = script(
        f"""
import numpy as np, threading, evener as ev
small = np.zeros((48, 64), np.uint8)
ev.blur()(small)
s = ev.blur().open(48, 64)
{end}
print("end")
""",
        timeout=20,
    )
    assert done.stdout == "end\n" and done.stderr == ""


def test_import_is_fast_and_without_numpy(script):
    code = "import time; t = time.perf_counter(); import evener; print(time.perf_counter() - t)"
    assert min(float(script(code).stdout) for _ in range(5)) < 0.05
    assert script("import sys, evener; print('numpy' in sys.modules)").stdout == "False\n"
    assert script("import sys, evener; print('evener.ray' in sys.modules)").stdout == "False\n"


def test_without_ray_what_needs_it_says_so(script):
    done = script("import sys; sys.modules['ray'] = None; import evener.ray", check=False)
    assert done.returncode == 1
    said = "ImportError: evener.ray needs Ray, which is not installed: pip install 'evener[ray]'"
    assert done.stderr.splitlines()[-1] == said

"""Any chain of filters gives what the command gives."""

import subprocess

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evener as ev

number = st.floats(-0.3, 0.3).map(lambda value: round(value, 3))
FILTERS = st.one_of(
    st.sampled_from(["blur", "sobel", "sobel_x", "sobel_y"]).map(lambda name: (name, (), {})),
    st.integers(0, 255).map(lambda code: ("threshold", (code / 255,), {})),
    st.sampled_from(["h", "v"]).map(lambda way: ("flip", (way,), {})),
    st.floats(-360, 360).map(lambda angle: ("rotate", (round(angle, 2),), {})),
    st.tuples(number, number).map(lambda k: ("undistort", (), {"k1": k[0], "k2": k[1]})),
    st.tuples(st.integers(8, 90), st.integers(8, 90)).map(lambda size: ("resize", size, {})),
    st.floats(0.3, 1.0).map(lambda part: ("crop", (round(part, 2),), {})),
)
CHAINS = st.lists(FILTERS, min_size=1, max_size=5)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(chain=CHAINS, deep=st.booleans(), shape=st.tuples(st.integers(1, 4), st.integers(9, 70), st.integers(9, 70)))
def test_any_chain_is_what_the_command_makes(command, chain, deep, shape):
    first, *rest = chain
    graph = getattr(ev, first[0])(*first[1], **first[2])
    for name, args, named in rest:
        graph = getattr(graph, name)(*args, **named)
    frames = np.random.default_rng(1).integers(0, 1024 if deep else 256, shape)
    frames = frames.astype("<u2" if deep else "u1")
    count, height, width = shape
    text = b"YUV4MPEG2 W%d H%d F25:1 Ip A0:0 C%s\n" % (width, height, b"mono10" if deep else b"mono")
    text += b"".join(b"FRAME\n" + frame.tobytes() for frame in frames)
    done = subprocess.run(
        [command, "filter", str(graph), "-i", "-", "-o", "-", "--no-memory", "--quiet"],
        input=text,
        capture_output=True,
    )
    try:
        result = graph(frames)
    except ev.GraphError as error:
        assert done.returncode != 0 and str(error) in done.stderr.decode()
        return
    assert done.returncode == 0, done.stderr
    head, bytes_of_frames = done.stdout.split(b"\n", 1)
    assert b"W%d H%d" % (result.shape[2], result.shape[1]) in head
    expected = b"".join(b"FRAME\n" + frame.tobytes() for frame in result)
    assert bytes_of_frames == expected

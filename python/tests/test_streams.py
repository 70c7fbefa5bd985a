"""Streams that stay open."""

import gc
import threading
import time
import weakref

import numpy as np
import pytest

import evener as ev

GRAPH = ev.blur().sobel().threshold(0.25)


def test_results_come_in_order(noise):
    frames = noise((40, 48, 64))
    expected = GRAPH(frames)
    with GRAPH.open(height=48, width=64) as stream:
        for at, result in enumerate(stream.map(iter(frames))):
            assert np.array_equal(result, expected[at])
        assert at == 39 and stream.under_way == 0
        assert np.array_equal(stream(frames[3]), expected[3])
    assert stream.closed and "closed" in repr(stream)


def test_what_map_does_not_give_is_dropped(noise):
    frames = noise((20, 48, 64))
    expected = GRAPH(frames)
    with GRAPH.open(height=48, width=64) as stream:
        for result in stream.map(iter(frames[:10])):
            assert np.array_equal(result, expected[0])
            break
        assert np.array_equal(list(stream.map(iter(frames[10:]))), expected[10:])

        def fails():
            yield from frames[:3]
            raise LookupError

        with pytest.raises(LookupError):
            list(stream.map(fails()))
        assert stream.under_way == 0
        stream.push(frames[0])
        with pytest.raises(ValueError, match="under way"):
            list(stream.map(frames))


def test_a_stream_is_opened_with_types_of_numpy(noise):
    for dtype in [np.uint8, np.dtype("u1"), "u1", None]:
        with GRAPH.open(48, 64, dtype) as stream:
            assert stream(noise((48, 64))).dtype == np.uint8
    with pytest.raises(ValueError, match="f32"):
        GRAPH.open(48, 64, np.int32)


def test_map_gives_each_result_as_soon_as_it_is_there(noise):
    frame = noise((48, 64))
    pulled = []

    def camera():
        for number in range(20):
            # All but the last few results were taken before the next frame came.
            assert len(pulled) >= number - 4
            time.sleep(0.02)
            yield frame

    with GRAPH.open(48, 64) as stream:
        for result in stream.map(camera()):
            pulled.append(result)
    assert len(pulled) == 20


@pytest.mark.parametrize("dtype, channels", [("u8", 1), ("u16", 1), ("f32", 1), ("u8", 3)])
def test_streams_take_what_calls_take(noise, dtype, channels):
    shape = (8, 40, 56, 3) if channels == 3 else (8, 40, 56)
    frames = noise(shape, {"u8": np.uint8, "u16": np.uint16, "f32": np.float32}[dtype])
    with GRAPH.open(40, 56, dtype, channels=channels) as stream:
        assert np.array_equal(np.stack(list(stream.map(frames))), GRAPH(frames))


def test_queue_conventions(noise):
    frame = noise((48, 64))
    with GRAPH.open(48, 64) as stream:
        with pytest.raises(ev.Empty):
            stream.pull(block=False)
        begin = time.monotonic()
        with pytest.raises(ev.Empty, match="push frames first"):
            stream.pull(timeout=0.15)
        assert 0.14 < time.monotonic() - begin < 1
        pushed = 0
        with pytest.raises(ev.Full, match="pull results first"):
            while pushed < 1000:
                stream.push(frame, block=pushed % 2 == 0, timeout=0.05)
                pushed += 1
        assert 4 <= pushed < 1000 and stream.under_way == pushed
        with pytest.raises(ValueError, match="under way"):
            stream(frame)
        for _ in range(pushed):
            assert np.array_equal(stream.pull(), GRAPH(frame))
        with pytest.raises(ValueError, match="timeout"):
            stream.pull(timeout=-1)
        stream.push(frame)
        stream.end()
        with pytest.raises(ev.Closed):
            stream.push(frame)
        assert len(list(stream)) == 1
        with pytest.raises(ev.Closed, match="ended"):
            stream.pull()


def test_full_and_empty_are_those_of_queues():
    import queue

    assert issubclass(ev.Full, queue.Full) and issubclass(ev.Empty, queue.Empty)


def test_a_report_ends_a_stream(noise):
    stream = GRAPH.open(48, 64)
    list(stream.map(noise((30, 48, 64))))
    report = stream.close()
    assert report.to_dict()["units"] == 30 and report.fps > 0
    assert stream.close() is None
    for use in [lambda: stream.push(noise((48, 64))), stream.pull, stream.end, lambda: stream.under_way]:
        with pytest.raises(ev.Closed):
            use()


def test_what_is_not_of_the_stream_is_refused(noise):
    with GRAPH.open(48, 64) as stream:
        for frame in [noise((64, 48)), noise((1, 48, 64)), noise((48, 64), np.uint16), noise((48, 64, 3))]:
            with pytest.raises(ev.FrameError, match="this stream takes an array of u8"):
                stream.push(frame)
        with pytest.raises(ev.FrameError, match="out is"):
            stream.push(noise((48, 64)), out=np.zeros((48, 63), np.uint8))
        assert stream.under_way == 0


def test_memory_in_work_is_not_lent_twice(noise):
    frame, out = noise((400, 600)), np.zeros((400, 600), np.uint8)
    with ev.rotate(3).open(400, 600) as stream:
        stream.push(frame, out)
        with pytest.raises(ev.FrameError, match="overlaps"):
            stream.push(frame, out)
        with pytest.raises(ev.FrameError, match="overlaps"):
            stream.push(out)
        with pytest.raises(ev.FrameError, match="overlaps"):
            stream.push(noise((400, 600)), frame)
        # Reading the same frame twice at once is fine.
        stream.push(frame)
        assert stream.pull() is out
        stream.pull()
        stream.push(out)
        stream.pull()


def test_a_frame_lives_as_long_as_the_stream_needs_it(noise):
    class Frame(np.ndarray):
        pass

    expected = GRAPH(noise((480, 640)))
    with GRAPH.open(480, 640) as stream:
        for _ in range(10):
            frame = noise((480, 640)).view(Frame)
            gone = weakref.ref(frame)
            stream.push(frame)
            del frame
            gc.collect()
            # New arrays do not get its memory.
            others = [np.zeros((480, 640), np.uint8) for _ in range(4)]
            assert np.array_equal(stream.pull(), expected)
            del others
            # The stream has given it back, at the latest when it is used again.
            stream(noise((480, 640)))
            gc.collect()
            assert gone() is None


def test_frames_are_given_back_when_a_stream_is_dropped_or_cancelled(noise):
    for end in ["cancel", "drop", "close", "raise"]:
        frames = [noise((480, 640), seed=seed) for seed in range(4)]
        outs = [np.zeros((480, 640), np.uint8) for _ in frames]
        stream = GRAPH.open(480, 640)
        for frame, out in zip(frames, outs):
            stream.push(frame, out)
        if end == "raise":
            with pytest.raises(ZeroDivisionError):
                with stream:
                    1 / 0
        elif end == "drop":
            del stream
            gc.collect()
        else:
            getattr(stream, end)()
        # All of it can be lent again, for writing too.
        for frame, out in zip(frames, outs):
            assert GRAPH(out, out=frame) is frame


def test_threads_push_and_pull(noise):
    frames = noise((200, 48, 64))
    expected, results = GRAPH(frames), []
    stream = GRAPH.open(48, 64)

    def push():
        for frame in frames:
            stream.push(frame)
        stream.end()

    pusher = threading.Thread(target=push)
    puller = threading.Thread(target=lambda: results.extend(stream))
    pusher.start(), puller.start()
    pusher.join(30), puller.join(30)
    assert np.array_equal(np.stack(results), expected)
    stream.close()


def test_threads_share_a_stream_by_calls_and_graphs_by_streams(noise):
    frames = noise((4, 48, 64))
    expected = GRAPH(frames)
    failed = []

    def call(at, callee):
        for _ in range(100):
            if not np.array_equal(callee(frames[at]), expected[at]):
                failed.append(at)

    with GRAPH.open(48, 64) as stream:
        for callee in [stream, GRAPH]:
            threads = [threading.Thread(target=call, args=(at, callee)) for at in range(4)]
            [thread.start() for thread in threads]
            [thread.join(60) for thread in threads]
            assert not failed


def test_close_ends_the_waits_of_other_threads():
    stream = GRAPH.open(48, 64)
    ended = []

    def wait():
        try:
            stream.pull()
        except ev.Closed as error:
            ended.append(error)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    [thread.start() for thread in threads]
    time.sleep(0.1)
    stream.close()
    [thread.join(10) for thread in threads]
    assert len(ended) == 3


def test_the_interpreter_is_free_during_a_run(noise):
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    frames = noise((30, 720, 1280))
    GRAPH(frames[:2])
    thread.start()
    begin = time.monotonic()
    ev.rotate(3).undistort()(frames)
    end = time.monotonic()
    stop.set()
    thread.join()
    meanwhile = [at for at in ticks if begin < at < end]
    # A run that held the interpreter would leave room for one switch at most.
    assert len(meanwhile) >= 5


def test_calls_keep_their_streams_for_a_while(noise):
    from evener import _evener

    frame = noise((48, 64))
    GRAPH(frame)
    assert _evener._kept() == 1
    ev.graph(str(GRAPH))(frame)
    assert _evener._kept() == 1
    ev.blur()(frame)
    assert _evener._kept() == 2
    for size in range(8):
        ev.blur()(noise((20 + size, 30)))
    assert _evener._kept() == 4
    deadline = time.monotonic() + 20
    while _evener._kept() and time.monotonic() < deadline:
        time.sleep(0.2)
    assert _evener._kept() == 0
    assert np.array_equal(GRAPH(frame), GRAPH(frame))


def test_a_stream_does_not_grow(noise):
    import resource

    frames = [noise((480, 640), seed=seed) for seed in range(4)]
    out = np.zeros((480, 640), np.uint8)
    with GRAPH.open(480, 640) as stream:
        for number in range(300):
            stream(frames[number % 4], out)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for number in range(1000):
            stream(frames[number % 4], out)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # 1,000 frames have 300 MB.
    assert grown < 2000, f"{grown} KiB more"

"""Graphs called with arrays."""

import numpy as np
import pytest

import evener as ev

GRAPH = ev.blur().sobel().threshold(0.25)


def reference_blur(frame):
    """The definition of `blur` on 8 bits, with edges repeated, in whole numbers."""
    padded = np.pad(frame.astype(np.int64), 1, mode="edge")
    rows = padded[:-2] + 2 * padded[1:-1] + padded[2:]
    sums = rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:]
    return (sums + 8) // 16


def test_a_filter_is_its_definition(noise):
    frames = noise((5, 37, 53))
    result = ev.blur()(frames)
    expected = np.stack([reference_blur(frame) for frame in frames])
    assert result.dtype == np.uint8 and result.shape == frames.shape
    # A sum that is half between two codes may be rounded to either.
    assert np.abs(result.astype(np.int64) - expected).max() <= 1
    assert (result == expected).mean() > 0.9


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_frames_one_by_one_and_together_are_the_same(noise, dtype):
    frames = noise((7, 41, 66), dtype)
    together = GRAPH(frames)
    assert together.dtype == dtype
    assert np.array_equal(together, np.stack([GRAPH(frame) for frame in frames]))
    assert len(np.unique(together)) > 2


def test_results_have_the_size_of_the_graph(noise):
    graph = ev.resize(20, 30)
    assert graph(noise((64, 48))).shape == (30, 20)
    assert graph(noise((3, 64, 48))).shape == (3, 30, 20)
    assert graph(noise((64, 48, 3))).shape == (30, 20, 3)
    assert graph(noise((0, 64, 48))).shape == (0, 30, 20)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("graph", [GRAPH, ev.rotate(20), ev.undistort(), ev.resize(31, 22)])
def test_each_channel_of_colour_is_as_gray(noise, dtype, graph):
    frames = noise((4, 33, 47, 3), dtype)
    result = graph(frames)
    for channel in range(3):
        gray = np.ascontiguousarray(frames[..., channel])
        assert np.array_equal(result[..., channel], graph(gray))
    assert np.array_equal(graph(frames[0]), result[0])


def test_gray_frames_three_samples_wide(noise):
    frames, graph = noise((5, 40, 3)), ev.blur()
    each = np.stack([graph(frame) for frame in frames])
    # Together they are one frame of colour.
    assert not np.array_equal(graph(frames), each)
    with graph.open(height=40, width=3) as stream:
        assert np.array_equal(np.stack(list(stream.map(frames))), each)
    narrow, wide = ev.crop(3, 10, 4, 4), noise((5, 40, 30))
    out = np.zeros((5, 10, 3), np.uint8)
    assert narrow(wide, out=out) is out
    assert np.array_equal(out, wide[:, 4:14, 4:7])


def test_strided_and_read_only_arrays_are_read_in_place(noise):
    frames = noise((6, 50, 80))
    expected = GRAPH(frames[:, 5:45, 7:70].copy())
    assert np.array_equal(GRAPH(frames[:, 5:45, 7:70]), expected)
    assert np.array_equal(GRAPH(frames[::2, 5:45, 7:70]), expected[::2])
    assert np.array_equal(GRAPH(frames[::-1, 5:45, 7:70]), expected[::-1])
    repeated = np.broadcast_to(frames[0], (4, 50, 80))
    assert np.array_equal(GRAPH(repeated)[3], GRAPH(frames[0]))
    frames.flags.writeable = False
    assert np.array_equal(GRAPH(frames[:, 5:45, 7:70]), expected)
    assert np.array_equal(GRAPH(memoryview(frames[0])), GRAPH(frames[0]))


def test_results_go_into_out_and_its_padding_stays(noise):
    frames = noise((6, 50, 80))
    room = np.full((6, 60, 100), 99, np.uint8)
    out = room[:, 3:53, 9:89]
    assert GRAPH(frames, out=out) is out
    assert np.array_equal(out, GRAPH(frames))
    room[:, 3:53, 9:89] = 99
    assert (room == 99).all()
    colour, result = noise((50, 80, 3)), np.zeros((50, 90, 3), np.uint8)[:, 5:85]
    assert np.array_equal(GRAPH(colour, result), GRAPH(colour))


@pytest.mark.parametrize(
    "spoil, error, says",
    [
        (lambda a: a[:, :, ::2], ev.FrameError, "side by side"),
        (lambda a: a[:, ::-1], ev.FrameError, "ascontiguousarray"),
        (lambda a: a.transpose(0, 2, 1), ev.FrameError, "side by side"),
        (lambda a: a.astype(np.int16), TypeError, "uint8"),
        (lambda a: a.astype(np.float64), TypeError, "astype"),
        (lambda a: a.astype(">u2"), TypeError, "uint16"),
        (lambda a: a.astype(bool), TypeError, "uint8"),
        (lambda a: a[..., :4], ev.FrameError, "4 samples in its last axis"),
        (lambda a: a[..., :1], ev.FrameError, "1 samples in its last axis"),
        (lambda a: a[0, 0], ev.FrameError, "1 axes"),
        (lambda a: a[..., None], ev.FrameError, "1 channels"),
        (lambda a: a[None, None], ev.FrameError, "5 axes"),
        (lambda a: a[:, :0], ev.FrameError, "above 0"),
        (lambda a: a.tolist(), TypeError, "list"),
        (lambda a: None, TypeError, "NoneType"),
    ],
)
def test_frames_that_cannot_be_are_refused(noise, spoil, error, says):
    with pytest.raises(error, match=says):
        GRAPH(spoil(noise((4, 32, 48))))


@pytest.mark.parametrize(
    "out, says",
    [
        (np.zeros((4, 32, 47), np.uint8), r"give an array of u8 and shape \(4, 32, 48\)"),
        (np.zeros((4, 32, 48), np.uint16), "out is an array of u16"),
        (np.zeros((32, 48), np.uint8), "give an array"),
        (np.broadcast_to(np.zeros(1, np.uint8), (4, 32, 48)), "out"),
        (np.zeros((4, 32, 96), np.uint8)[:, :, ::2], "out has rows .* give a separate array"),
        (bytes(32 * 48), "out"),
    ],
)
def test_results_that_do_not_fit_are_refused(noise, out, says):
    with pytest.raises(ev.FrameError, match=says):
        GRAPH(noise((4, 32, 48)), out)


def test_colour_has_no_luma(noise):
    with pytest.raises(ev.GraphError, match="no luma"):
        GRAPH(noise((32, 48, 3)), planes="luma")
    with pytest.raises(ev.GraphError, match="no luma"):
        GRAPH.open(32, 48, channels=3, planes="luma")


def test_results_of_three_columns_are_not_taken_for_colour(noise):
    graph = ev.crop(0.5).crop(0.75)
    frames = noise((2, 9, 9))
    result = graph(frames)
    assert result.shape == (2, 3, 3)
    out = np.zeros((2, 3, 3), np.uint8)
    assert graph(frames, out=out) is out
    assert np.array_equal(out, result)


def test_results_that_overlap_are_refused(noise):
    frames = noise((8, 32, 48))
    for frames_in, out in [
        (frames, frames),
        (frames[:4], frames[3:7]),
        (frames[:, :16], frames[:, 16:]),
        (frames[0], frames[0]),
    ]:
        with pytest.raises(ev.FrameError, match="overlaps"):
            GRAPH(frames_in, out=out)
    assert GRAPH(frames[:4], out=frames[4:]) is not None
    frames.flags.writeable = False
    with pytest.raises(ev.FrameError, match="read-only"):
        GRAPH(noise((8, 32, 48)), out=frames)


def test_nothing_is_lent_after_an_error(noise):
    frames = noise((4, 32, 48))
    for _ in range(3):
        with pytest.raises(ev.GraphError):
            ev.crop(640, 480, 0, 0)(frames)
        with pytest.raises(ev.FrameError):
            GRAPH(frames, out=frames)
        assert GRAPH(noise((4, 32, 48), seed=2), out=frames) is frames


class Tensor:
    """Another library's array, which has DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack_is_read_and_written(noise):
    frames = noise((4, 32, 48))
    assert np.array_equal(GRAPH(Tensor(frames)), GRAPH(frames))
    out = Tensor(np.zeros_like(frames))
    assert GRAPH(frames, out=out) is out
    assert np.array_equal(out.array, GRAPH(frames))


def test_profiles_have_a_report(noise):
    frames = noise((30, 64, 96))
    result, report = GRAPH.profile(frames)
    assert np.array_equal(result, GRAPH(frames))
    assert report.fps > 0 and report.to_dict()["units"] == 30
    assert "30 frames" in str(report) and "fps" in str(report)
    assert report.plan.count("/") == 2 and report.plan.split("/")[0] in report._repr_html_()
    again, report = GRAPH.profile(frames, plan="tiled", workers=1)
    assert np.array_equal(again, result) and report.plan.startswith("tiled/")

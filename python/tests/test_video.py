"""Frames of PyAV."""

import os
import pathlib

import numpy as np
import pytest

import evener as ev

av = pytest.importorskip("av")

CLIPS = os.environ.get("EVENER_CLIPS")


def planes(frame):
    """The samples of each plane, without padding."""
    found = []
    for at, plane in enumerate(frame.planes):
        wide = 2 if "10" in frame.format.name else 1
        lines = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
        found.append(lines[:, : plane.width * wide].copy().view("<u2" if wide == 2 else "u1"))
    return found


def filled(name, width, height, noise):
    frame = av.VideoFrame(width, height, name)
    for at, plane in enumerate(frame.planes):
        wide = 2 if "10" in name else 1
        lines = np.frombuffer(plane, np.uint8).reshape(plane.height, plane.line_size)
        codes = noise((plane.height, plane.width), np.uint16 if wide == 2 else np.uint8, seed=at)
        lines[:, : plane.width * wide] = codes.view(np.uint8).reshape(plane.height, -1)
    frame.pts = 7
    return frame


@pytest.mark.parametrize("name", ["gray", "gray10le"])
def test_gray_frames_are_as_arrays(noise, name):
    # A width that no line size is a multiple of, so that lines are padded.
    frame = filled(name, 67, 40, noise)
    assert frame.planes[0].line_size > 67 * (2 if "10" in name else 1)
    result = ev.blur().sobel()(frame)
    assert isinstance(result, av.VideoFrame) and result.format.name == name and result.pts == 7
    assert np.array_equal(planes(result)[0], ev.blur().sobel()(planes(frame)[0]))


@pytest.mark.parametrize("name", ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le"])
def test_chroma_is_filtered_as_the_planes_say(noise, name):
    frame = filled(name, 66, 40, noise)
    for chosen in ["auto", "each", "luma"]:
        result = ev.flip("h")(frame, planes=chosen)
        expected = [plane[:, ::-1] for plane in planes(frame)]
        expected = expected[:1] if chosen == "luma" else expected
        assert len(result.planes) == len(expected)
        for plane, flipped in zip(planes(result), expected):
            assert np.array_equal(plane, flipped)
    grey = 512 if "10" in name else 128
    assert all((plane == grey).all() for plane in planes(ev.sobel()(frame))[1:])


def test_other_pixel_formats_are_refused(noise):
    with pytest.raises(ev.FrameError, match="rgb24; give gray or planar YUV"):
        ev.blur()(av.VideoFrame(64, 48, "rgb24"))


def test_streams_of_video_frames(noise):
    frames = [filled("yuv420p", 64, 48, noise) for _ in range(6)]
    with ev.blur().open(48, 64, format="yuv420p") as stream:
        results = list(stream.map(frames))
        with pytest.raises(ev.FrameError, match="this stream takes a PyAV frame"):
            stream.push(noise((48, 64)))
    assert len(results) == 6
    for result in results:
        assert all(np.array_equal(*pair) for pair in zip(planes(result), planes(ev.blur()(frames[0]))))


@pytest.mark.skipif(not CLIPS, reason="EVENER_CLIPS names no folder of clips")
def test_decoded_clips(noise, tmp_path):
    """Frames that PyAV decodes give what the file gives."""
    clip = sorted(pathlib.Path(CLIPS).glob("foreman*.264"))[0]
    report = ev.read(clip).pipe(ev.blur()).write(tmp_path / "out.y4m")
    with av.open(str(clip)) as container, av.open(str(tmp_path / "out.y4m")) as written:
        pairs = zip(container.decode(video=0), written.decode(video=0))
        for count, (frame, expected) in zip(range(5), pairs):
            for plane, other in zip(planes(ev.blur()(frame)), planes(expected)):
                assert np.array_equal(plane, other)
    assert report.to_dict()["units"] > count

"""Files, encryption, disk images, queens and the encoder."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import evener as ev

ffmpeg = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="no ffmpeg")


def y4m(path, frames):
    """Writes gray frames."""
    count, height, width = frames.shape
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A0:0 Cmono\n" % (width, height))
        for frame in frames:
            file.write(b"FRAME\n" + frame.tobytes())


def from_y4m(path):
    """Reads gray frames."""
    head, rest = open(path, "rb").read().split(b"\n", 1)
    words = dict((word[:1], word[1:]) for word in head.split(b" ")[1:])
    width, height = int(words[b"W"]), int(words[b"H"])
    frames = np.frombuffer(rest, np.uint8).reshape(-1, 6 + width * height)
    return frames[:, 6:].reshape(-1, height, width)


def test_files_are_as_arrays(noise, tmp_path):
    frames = noise((9, 48, 64))
    y4m(tmp_path / "in.y4m", frames)
    seen = []
    source = ev.read(tmp_path / "in.y4m").pipe(ev.blur()).pipe("sobel")
    report = source.write(tmp_path / "out.y4m", progress=lambda done, total: seen.append((done, total)))
    assert report.to_dict()["units"] == 9 and report.fps > 0
    assert np.array_equal(from_y4m(tmp_path / "out.y4m"), ev.blur().sobel()(frames))
    assert all(done <= 9 and total == 9 for done, total in seen)
    assert seen[-1] == (9, 9)
    assert "blur,sobel" in repr(source)


def test_progress_is_a_line_or_a_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    long = ev.read("testsrc:320x240:3000").pipe("rotate=5")
    long.write("null:", progress=True)
    assert "3000" in capsys.readouterr().err


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_without_tqdm_is_a_line_on_a_terminal(terminal, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    ev.read("testsrc:64x48:9").pipe("blur").write("null:", progress=True)
    shown = capsys.readouterr().err
    assert bool(shown) == terminal
    assert shown.count("\r9 of 9 frames") == terminal and shown.endswith("9 of 9 frames\n") == terminal


def test_an_exception_of_progress_ends_a_run(tmp_path):
    def progress(done, total):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        ev.read("testsrc:640x480:100000").pipe("rotate=5").write("null:", progress=progress)


@pytest.mark.parametrize(
    "run, error, says",
    [
        (lambda d: ev.read(d / "none.y4m").pipe("blur").write("null:"), ev.FileError, "none.y4m"),
        (lambda d: ev.read("testsrc:64x48:2").write("null:"), ValueError, "no graph"),
        (lambda d: ev.read("testsrc:64x48:2").pipe("crop=640:480:0:0").write("null:"), ev.GraphError, "^crop"),
        (lambda d: ev.encode("testsrc:64x48:2", d / "a.264", graph="crop=640:480:0:0"), ev.GraphError, "^crop"),
        (lambda d: ev.encode("testsrc:64x48:2", d / "a.264", bitrate=2000000), TypeError, "bitrate=2000000: .*'2M'"),
        (lambda d: ev.encode("testsrc:64x48:2", d / "a.264", crf="20"), TypeError, "crf='20': give a number"),
        (lambda d: ev.read("testsrc:64x48:2").pipe("blur").write("null:", progress=3), TypeError, "progress=3"),
        (lambda d: ev.Key.from_bytes(b"short"), ValueError, "5 bytes: give 32"),
        (lambda d: ev.read("testsrc:64x48:2").pipe("blur").write(d / "no" / "out.y4m"), ev.FileError, "out.y4m"),
        (lambda d: ev.encode("testsrc:64x48:2", d / "a.264", crf=20, qp=3), ValueError, "one of crf"),
        (lambda d: ev.encode("testsrc:64x48:2", d / "a.264", preset="best"), ValueError, "give one of"),
        (lambda d: ev.encode("testsrc:64x48:2", d / "a.264", bitrate="2"), ValueError, "unit|2M"),
        (lambda d: ev.decrypt(d / "none", d / "out", key=ev.Key.generate()), ev.CryptError, "none"),
        (lambda d: ev.decrypt(b"x" * 99, key=ev.Key.generate()), ev.CryptError, "input"),
        (lambda d: ev.encrypt(b"x"), ValueError, "a key or a passphrase"),
        (lambda d: ev.encrypt("name", key=ev.Key.generate()), TypeError, "output"),
        (lambda d: ev.encrypt(b"x", d / "out", key=ev.Key.generate()), TypeError, "bytes are returned"),
        (lambda d: ev.encrypt(np.zeros(9, np.uint8)[::2], key=ev.Key.generate()), ValueError, "contiguous"),
        (lambda d: ev.ctr(b"x", key=b"short", iv=bytes(16)), ValueError, "16, 24 and 32"),
        (lambda d: ev.Key.load(d / "none"), ev.CryptError, "none"),
        (lambda d: ev.Image(d / "none"), ev.ImageError, "none"),
        (lambda d: ev.queens(99), ValueError, "99|board"),
    ],
)
def test_what_is_wrong_is_said(tmp_path, run, error, says):
    with pytest.raises(error, match=says):
        run(tmp_path)
    assert os.listdir(tmp_path) == []


@ffmpeg
def test_the_encoder(tmp_path):
    report = ev.encode("testsrc:176x144:10", tmp_path / "out.mp4", graph="blur", crf=28, psnr=True)
    assert report.to_dict()["units"] == 10 and report.to_dict()["encoded"]
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-count_frames", "-show_streams", "-of", "json", tmp_path / "out.mp4"],
        capture_output=True,
        check=True,
    )
    stream = json.loads(shown.stdout)["streams"][0]
    assert (stream["codec_name"], stream["nb_read_frames"], stream["width"]) == ("h264", "10", 176)


def test_key_frames_by_their_numbers(tmp_path):
    report = ev.encode("testsrc:64x48:20", tmp_path / "out.264", qp=30, keyint=10, keys=[15, 4])
    assert report.to_dict()["encoded"]["key_pictures"] == 4, "0, 4, 14 and 15"


@pytest.mark.parametrize("size", [0, 1, 16384, 1 << 20, (3 << 20) + 5])
def test_bytes_are_sealed_as_files_are(tmp_path, size, noise):
    plain, key = noise(size).tobytes(), ev.Key.create(tmp_path / "key")
    sealed = ev.encrypt(plain, key=key, context=b"c")
    assert ev.decrypt(sealed, key=key, context=b"c") == plain
    assert plain not in sealed or size < 2
    # Files have the same format.
    (tmp_path / "sealed").write_bytes(sealed)
    ev.decrypt(tmp_path / "sealed", tmp_path / "plain", key=ev.Key.load(tmp_path / "key"), context=b"c")
    assert (tmp_path / "plain").read_bytes() == plain
    report = ev.encrypt(tmp_path / "plain", tmp_path / "again", key=key, progress=lambda *_: None)
    assert report.to_dict()["bytes"] == len(sealed)
    assert ev.decrypt((tmp_path / "again").read_bytes(), key=key) == plain
    if size > 100:
        ev.decrypt(tmp_path / "again", tmp_path / "part", key=key, range=(50, 90))
        assert (tmp_path / "part").read_bytes() == plain[50:90]


def test_what_was_altered_is_refused(noise):
    key = ev.Key.generate()
    sealed = bytearray(ev.encrypt(noise(100000), key=key))
    for wrong in [ev.Key.generate(), key]:
        with pytest.raises(ev.CryptError):
            ev.decrypt(sealed, key=wrong, context=b"" if wrong is not key else b"other")
    for damaged in [sealed[:-1], sealed + b"x", sealed[:70000] + b"x" + sealed[70001:], sealed[:10], b""]:
        with pytest.raises(ev.CryptError):
            ev.decrypt(bytes(damaged), key=key)
    assert ev.decrypt(sealed, key=key) == noise(100000).tobytes()
    assert repr(key) == "evener.Key(..)"
    own = ev.encrypt(b"x", key=ev.Key.from_bytes(bytes(range(32))))
    assert ev.decrypt(own, key=ev.Key.from_bytes(bytes(range(32)))) == b"x"


def test_passphrases():
    sealed = ev.encrypt(b"text", passphrase="correct horse")
    assert ev.decrypt(sealed, passphrase="correct horse") == b"text"
    with pytest.raises(ev.CryptError):
        ev.decrypt(sealed, passphrase="correct house")
    with pytest.raises(ev.CryptError, match="passphrase"):
        ev.decrypt(sealed, key=ev.Key.generate())


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl")
@pytest.mark.parametrize("bits", [128, 256])
def test_counter_mode_is_that_of_openssl(tmp_path, noise, bits):
    plain, key, iv = noise(2_500_001).tobytes(), bytes(range(bits // 8)), bytes(range(16, 32))
    run = ["openssl", "enc", f"-aes-{bits}-ctr", "-K", key.hex(), "-iv", iv.hex()]
    expected = subprocess.run(run, input=plain, capture_output=True, check=True).stdout
    assert ev.ctr(plain, key=key, iv=iv) == expected
    assert ev.ctr(expected[1000:], key=key, iv=iv, at=1000) == plain[1000:]
    (tmp_path / "in").write_bytes(plain)
    ev.ctr(tmp_path / "in", tmp_path / "out", key=key, iv=iv)
    assert (tmp_path / "out").read_bytes() == expected


def test_images(tmp_path, command, noise):
    plain = noise(5_000_000).tobytes() + bytes(3_000_000) + b"end" * 99
    (tmp_path / "disk").write_bytes(plain)
    subprocess.run([command, "image", "pack", tmp_path / "disk", tmp_path / "packed"], check=True)
    image = ev.Image(tmp_path / "packed")
    assert (image.size, len(image)) == (len(plain), len(plain))
    assert image.read() == plain
    for offset, size in [(0, 1), (4_999_999, 2), (4_000_000, 2_000_000), (8_000_000, None), (10**9, 5)]:
        end = None if size is None else offset + size
        assert image.read(offset, size) == plain[offset:end]
    damaged = bytearray((tmp_path / "packed").read_bytes())
    damaged[1_000_000] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    with pytest.raises(ev.ImageError, match="cannot be read"):
        ev.Image(tmp_path / "damaged").read()


def test_queens(tmp_path):
    # OEIS A000170.
    assert [ev.queens(n) for n in range(1, 12)] == [1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680]
    assert ev.queens(10, checkpoint=tmp_path / "file", workers=1) == 724
    assert ev.queens(10, checkpoint=tmp_path / "file") == 724

"""Reads and writes 8-bit single-plane YUV4MPEG2 files."""

import numpy as np

HEADER = "YUV4MPEG2 W{width} H{height} F25:1 Ip A1:1 Cmono\n"


def write(path, frames):
    """Write (height, width) u8 planes of one size."""
    height, width = frames[0].shape
    with open(path, "wb") as file:
        file.write(HEADER.format(width=width, height=height).encode())
        for frame in frames:
            file.write(b"FRAME\n" + np.ascontiguousarray(frame).tobytes())


def read(path):
    """All planes of a file that has nothing but luma."""
    with open(path, "rb") as file:
        tokens = file.readline().decode().split()
        if not tokens or tokens[0] != "YUV4MPEG2":
            raise ValueError(f"{path}: no YUV4MPEG2 header")
        tags = {token[0]: token[1:] for token in tokens[1:]}
        if tags.get("C") != "mono":
            raise ValueError(f"{path}: colour space {tags.get('C')!r}, expected 'mono'")
        width, height = int(tags["W"]), int(tags["H"])
        frames = []
        while mark := file.readline():
            if not mark.startswith(b"FRAME"):
                raise ValueError(f"{path}: frame {len(frames)} does not begin with FRAME")
            data = file.read(width * height)
            if len(data) < width * height:
                raise ValueError(f"{path}: frame {len(frames)} is cut short")
            frames.append(np.frombuffer(data, np.uint8).reshape(height, width))
    return frames

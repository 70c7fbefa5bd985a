"""The seven benchmark pipelines, their sizes and the fixed plane every peer works on."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Pipeline:
    """One benchmark: a letter and the graph text that `evener filter` takes."""

    letter: str
    graph: str

    def stages(self):
        return parse(self.graph)

    def output_size(self, width, height):
        """Size of the plane that the pipeline puts out, (width, height) in samples."""
        for name, argument in self.stages():
            if name == "crop":
                width, height, _, _ = crop_box(width, height, float(argument or 0.8))
        return width, height


PIPELINES = (
    Pipeline("A", "blur,sobel,threshold=0.25"),
    Pipeline("B", "undistort,rotate=6,crop=0.8"),
    Pipeline("C", "undistort,rotate=60,crop=0.8"),
    Pipeline("D", "posterize,threshold,binary"),
    Pipeline("E", "threshold,binary,rotate=30"),
    Pipeline("F", "threshold,rotate=30,binary"),
    Pipeline("G", "rotate=30,threshold,binary"),
)

SIZES = ((1920, 1080), (352, 288))

# Defaults of filters that are written without an argument.
THRESHOLD = 0.5
UNDISTORT_K1 = -0.1
POSTERIZE_LEVELS = 8


def parse(graph):
    """Cut graph text into [(filter, argument text or None)]."""
    stages = []
    for part in graph.split(","):
        name, _, argument = part.partition("=")
        stages.append((name, argument or None))
    return stages


def crop_box(width, height, fraction):
    """Centred crop of one plane without chroma: (width, height, x, y), each rounded down."""
    w, h = math.floor(width * fraction), math.floor(height * fraction)
    return w, h, (width - w) // 2, (height - h) // 2


def shrinks(graph, width, height):
    """Whether some `resize` makes a side of the plane shorter, which no library does alike."""
    for name, argument in parse(graph):
        if name == "crop":
            width, height, _, _ = crop_box(width, height, float(argument or 0.8))
        if name == "resize":
            w, h = (int(n) for n in argument.split(":"))
            if w < width or h < height:
                return True
            width, height = w, h
    return False


def test_codes(width, height):
    """A fixed 8-bit plane: slow shading, hard edges, a fine grating and noise, (height, width)."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    shade = 0.5 + 0.35 * np.sin(2.1 * np.pi * x / width) * np.cos(1.7 * np.pi * y / height)
    disc = ((x - 0.6 * width) ** 2 + (y - 0.45 * height) ** 2) < (0.22 * height) ** 2
    bars = ((x // 16 + y // 24) % 2) * (x < 0.3 * width)
    grating = 0.15 * np.sin(0.5 * x + 0.27 * y) * (y > 0.7 * height)
    noise = np.random.default_rng(20240229).normal(0.0, 0.03, (height, width))
    plane = shade + 0.4 * disc - 0.3 * bars + grating + noise
    return np.rint(np.clip(plane, 0.0, 1.0) * 255.0).astype(np.uint8)


def test_plane(width, height):
    """The same plane as f32 samples in [0, 1], C-contiguous."""
    return np.ascontiguousarray((test_codes(width, height) / 255.0).astype(np.float32))

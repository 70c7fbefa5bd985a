"""The filters with OpenCV, operation by operation, as its users write them.

Each filter has one or more natural implementations; `fastest` times them alone and keeps the best
of each, and a pipeline is then a chain of those, every intermediate plane allocated beforehand.
"""

import math
import os

# Set before the library is loaded: nothing of it should start more threads than are compared.
os.environ.setdefault("OPENCV_FOR_THREADS_NUM", "2")

import cv2  # noqa: E402
import numpy as np  # noqa: E402

import pipelines  # noqa: E402
import timing  # noqa: E402

cv2.setNumThreads(2)
cv2.ocl.setUseOpenCL(False)

REPLICATE = cv2.BORDER_REPLICATE
EXACT_FLAGS = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP


def blur_variants(src, _):
    dst = np.empty_like(src)
    line = np.array([[0.25, 0.5, 0.25]], np.float32)
    square = (line.T @ line).astype(np.float32)
    # With sigma 0 OpenCV's own 3-tap Gaussian is [1 2 1]/4.
    yield "GaussianBlur", lambda: cv2.GaussianBlur(src, (3, 3), 0, dst, 0, REPLICATE), dst
    yield (
        "sepFilter2D",
        lambda: cv2.sepFilter2D(src, -1, line, line, dst, borderType=REPLICATE),
        dst,
    )
    yield "filter2D", lambda: cv2.filter2D(src, -1, square, dst, borderType=REPLICATE), dst


def gaussian_variants(src, argument):
    sigma = float(argument or 1)
    dst = np.empty_like(src)
    size = 2 * math.ceil(3 * sigma) + 1
    kernel = cv2.getGaussianKernel(size, sigma, cv2.CV_32F)
    yield (
        "GaussianBlur",
        lambda: cv2.GaussianBlur(src, (size, size), sigma, dst, sigma, REPLICATE),
        dst,
    )
    yield (
        "sepFilter2D",
        lambda: cv2.sepFilter2D(src, -1, kernel, kernel, dst, borderType=REPLICATE),
        dst,
    )


def derivative_variants(src, dx, dy):
    dst = np.empty_like(src)
    slope, smooth = np.array([-1, 0, 1], np.float32), np.array([1, 2, 1], np.float32)
    kx, ky = (slope, smooth) if dx else (smooth, slope)
    yield (
        "Sobel",
        lambda: cv2.Sobel(src, cv2.CV_32F, dx, dy, dst, 3, borderType=REPLICATE),
        dst,
    )
    yield "sepFilter2D", lambda: cv2.sepFilter2D(src, -1, kx, ky, dst, borderType=REPLICATE), dst


def sobel_x_variants(src, _):
    return derivative_variants(src, 1, 0)


def sobel_y_variants(src, _):
    return derivative_variants(src, 0, 1)


def sobel_variants(src, _):
    """Two derivatives and their magnitude; the derivative is the faster of its variants."""
    name_x, gx_step, gx = fastest(sobel_x_variants, src, None)
    name_y, gy_step, gy = fastest(sobel_y_variants, src, None)
    dst = np.empty_like(src)

    def step():
        gx_step()
        gy_step()
        cv2.magnitude(gx, gy, dst)

    yield f"{name_x}, {name_y}, magnitude", step, dst


def threshold_variants(src, argument):
    t = float(argument or pipelines.THRESHOLD)
    dst = np.empty_like(src)
    yield "threshold", lambda: cv2.threshold(src, t, 0, cv2.THRESH_TOZERO, dst), dst


def binary_variants(src, _):
    dst = np.empty_like(src)
    yield "threshold", lambda: cv2.threshold(src, 0, 1, cv2.THRESH_BINARY, dst), dst


def posterize_variants(src, argument):
    """OpenCV has no floor: either numpy's, or a rounding conversion to whole levels and back."""
    levels = int(argument or pipelines.POSTERIZE_LEVELS)
    dst, scaled = np.empty_like(src), np.empty_like(src)
    codes = np.empty(src.shape, np.uint8)
    last = levels - 1
    table = (np.minimum(np.arange(256), last) / last).astype(np.float32)
    # Half a level less, rounded, is the floor; the small term decides samples exactly on a level.
    shift = -0.5 + 1e-5

    def with_numpy():
        cv2.multiply(src, levels, scaled)
        np.floor(scaled, scaled)
        np.clip(scaled, 0, last, scaled)
        cv2.multiply(scaled, 1 / last, dst)

    yield "multiply, numpy floor and clip, multiply", with_numpy, dst

    def multiplied():
        cv2.min(codes, last, codes)
        cv2.multiply(codes, 1 / last, dst, dtype=cv2.CV_32F)

    to_codes = {
        "addWeighted": lambda: cv2.addWeighted(src, levels, src, 0, shift, codes, cv2.CV_8U),
        # The absolute value only concerns samples below half a level, which round to 0 either way.
        "convertScaleAbs": lambda: cv2.convertScaleAbs(src, codes, levels, shift),
    }
    to_levels = {
        "min and multiply": multiplied,
        "LUT": lambda: cv2.LUT(codes, table, dst),
    }
    for first, there in to_codes.items():
        for second, back in to_levels.items():
            yield f"{first} to 8 bits, {second}", in_turn(there, back), dst


def in_turn(first, second):
    def step():
        first()
        second()

    return step


def flip_variants(src, argument):
    dst = np.empty_like(src)
    code = 1 if (argument or "h") == "h" else 0
    yield "flip", lambda: cv2.flip(src, code, dst), dst


def crop_variants(src, argument):
    height, width = src.shape
    w, h, x, y = pipelines.crop_box(width, height, float(argument or 0.8))
    yield "slice", lambda: None, src[y : y + h, x : x + w]


def resize_variants(src, argument):
    w, h = (int(n) for n in argument.split(":"))
    dst = np.empty((h, w), np.float32)
    yield "resize", lambda: cv2.resize(src, (w, h), dst, interpolation=cv2.INTER_LINEAR), dst


def rotate_variants(src, argument):
    height, width = src.shape
    angle = math.radians(float(argument))
    c, s = math.cos(angle), math.sin(angle)
    cx, cy = (width - 1) / 2, (height - 1) / 2
    matrix = np.array([[c, -s, cx - c * cx + s * cy], [s, c, cy - s * cx - c * cy]], np.float64)
    dst = np.empty_like(src)
    yield (
        "warpAffine",
        lambda: cv2.warpAffine(src, matrix, (width, height), dst, EXACT_FLAGS, cv2.BORDER_CONSTANT),
        dst,
    )
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    sx = matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2]
    sy = matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2]
    yield from remap_variants(src, sx, sy)


def undistort_variants(src, argument):
    k1 = float(argument or pipelines.UNDISTORT_K1)
    height, width = src.shape
    cx, cy = (width - 1) / 2, (height - 1) / 2
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    dx, dy = x - cx, y - cy
    scale = 1 + k1 * (dx * dx + dy * dy) / (cx * cx + cy * cy)
    yield from remap_variants(src, cx + dx * scale, cy + dy * scale)


def remap_variants(src, sx, sy):
    """Coordinate tables made beforehand, as two planes or as one of pairs."""
    dst = np.empty_like(src)
    map_x, map_y = sx.astype(np.float32), sy.astype(np.float32)
    pairs = np.ascontiguousarray(np.dstack([map_x, map_y]))
    constant = cv2.BORDER_CONSTANT
    yield (
        "remap, two planes",
        lambda: cv2.remap(src, map_x, map_y, cv2.INTER_LINEAR, dst, constant),
        dst,
    )
    yield (
        "remap, pairs",
        lambda: cv2.remap(src, pairs, None, cv2.INTER_LINEAR, dst, constant),
        dst,
    )


def fastest(variants, src, argument):
    """The quickest of a filter's implementations: (name, step, plane it writes)."""
    found = list(variants(src, argument))
    if len(found) == 1:
        return found[0]
    passes = [[timing.quick(step) for _, step, _ in found] for _ in range(3)]
    scores = [min(times) for times in zip(*passes)]
    return found[scores.index(min(scores))]


class Chain:
    """A pipeline as a list of operations; `step()` runs a frame, `output` is its last plane."""

    def __init__(self, plane, graph):
        self.steps, self.names = [], []
        for name, argument in pipelines.parse(graph):
            chosen, step, plane = fastest(VARIANTS[name], plane, argument)
            # Later operations are chosen by timing them on the plane this one wrote.
            step()
            self.names.append(f"{name}: {chosen}")
            if chosen != "slice":
                self.steps.append(step)
        self.output = plane

    def step(self):
        for step in self.steps:
            step()


VARIANTS = {
    "blur": blur_variants,
    "gaussian": gaussian_variants,
    "sobel_x": sobel_x_variants,
    "sobel_y": sobel_y_variants,
    "sobel": sobel_variants,
    "threshold": threshold_variants,
    "undistort": undistort_variants,
    "crop": crop_variants,
    "rotate": rotate_variants,
    "resize": resize_variants,
    "posterize": posterize_variants,
    "binary": binary_variants,
    "flip": flip_variants,
}

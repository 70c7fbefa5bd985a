"""The filters in numpy and float64, written from their definitions: slow, plain and independent.

A plane is (height, width) with samples in [0, 1]. Beside each plane goes a mask of the samples
where a rounding error of the last place may change the answer by more than itself: values at a jump
of a tonal filter, coordinates at the border of a warp's source, and what later stages read of them.
"""

import math

import numpy as np

import pipelines

# How close a value must be to a jump of a filter for either side of it to be accepted.
NEAR = 2e-5


def repeat(plane, x, y):
    """Samples at integer coordinates, the edge sample repeated outwards."""
    height, width = plane.shape
    return plane[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)]


def grid(width, height):
    y, x = np.mgrid[0:height, 0:width]
    return x, y


def correlate(plane, kernel):
    height, width = plane.shape
    x, y = grid(width, height)
    ry, rx = kernel.shape[0] // 2, kernel.shape[1] // 2
    total = np.zeros_like(plane)
    for j in range(kernel.shape[0]):
        for i in range(kernel.shape[1]):
            total += kernel[j, i] * repeat(plane, x + i - rx, y + j - ry)
    return total


def blur(plane, _):
    line = np.array([[1.0, 2.0, 1.0]])
    return correlate(plane, line.T @ line / 16)


def gaussian(plane, argument):
    sigma = float(argument or 1)
    radius = math.ceil(3 * sigma)
    line = np.exp(-(np.arange(-radius, radius + 1.0) ** 2) / (2 * sigma * sigma))
    line = (line / line.sum())[None, :]
    return correlate(correlate(plane, line), line.T)


KERNEL_X = np.array([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])


def sobel_x(plane, _):
    return correlate(plane, KERNEL_X)


def sobel_y(plane, _):
    return correlate(plane, KERNEL_X.T)


def sobel(plane, _):
    return np.hypot(sobel_x(plane, None), sobel_y(plane, None))


def threshold(plane, argument):
    return np.where(plane > float(argument or pipelines.THRESHOLD), plane, 0.0)


def posterize(plane, argument):
    levels = int(argument or pipelines.POSTERIZE_LEVELS)
    return np.clip(np.floor(plane * levels), 0, levels - 1) / (levels - 1)


def binary(plane, _):
    return np.where(plane > 0, 1.0, 0.0)


def flip(plane, argument):
    return plane[:, ::-1] if (argument or "h") == "h" else plane[::-1]


def crop(plane, argument):
    height, width = plane.shape
    w, h, x, y = pipelines.crop_box(width, height, float(argument or 0.8))
    return plane[y : y + h, x : x + w]


def bilinear(plane, sx, sy):
    x0, y0 = np.floor(sx).astype(int), np.floor(sy).astype(int)
    fx, fy = sx - x0, sy - y0
    upper = repeat(plane, x0, y0) * (1 - fx) + repeat(plane, x0 + 1, y0) * fx
    lower = repeat(plane, x0, y0 + 1) * (1 - fx) + repeat(plane, x0 + 1, y0 + 1) * fx
    return upper * (1 - fy) + lower * fy


def warp_coordinates(name, argument, width, height):
    """Where each sample of a rotated or undistorted plane reads its source."""
    cx, cy = (width - 1) / 2, (height - 1) / 2
    x, y = grid(width, height)
    dx, dy = x - cx, y - cy
    if name == "undistort":
        k1 = float(argument or pipelines.UNDISTORT_K1)
        scale = 1 + k1 * (dx * dx + dy * dy) / (cx * cx + cy * cy)
        return cx + dx * scale, cy + dy * scale
    c, s = math.cos(math.radians(float(argument))), math.sin(math.radians(float(argument)))
    return cx + c * dx - s * dy, cy + s * dx + c * dy


def warp(name):
    def filter_(plane, argument):
        height, width = plane.shape
        sx, sy = warp_coordinates(name, argument, width, height)
        inside = (sx >= 0) & (sx <= width - 1) & (sy >= 0) & (sy <= height - 1)
        return np.where(inside, bilinear(plane, sx, sy), 0.0)

    return filter_


def triangles(old, new):
    """Weights of `old` samples for each of `new` ones, (new, old): a triangle around the place of
    each, as wide as the ratio where the line shrinks, edge samples repeated outwards."""
    ratio = old / new
    reach = max(ratio, 1)
    centre = (np.arange(new)[:, None] + 0.5) * ratio - 0.5
    beyond = math.ceil(reach) + 1
    at = np.arange(-beyond, old + beyond)
    weights = np.maximum(0, 1 - np.abs(at[None, :] - centre) / reach)
    found = np.zeros((new, old))
    np.add.at(found, (slice(None), np.clip(at, 0, old - 1)), weights)
    return found / found.sum(axis=1, keepdims=True)


def resize(plane, argument):
    w, h = (int(n) for n in argument.split(":"))
    height, width = plane.shape
    return triangles(height, h) @ plane @ triangles(width, w).T


FILTERS = {
    "blur": blur,
    "gaussian": gaussian,
    "sobel_x": sobel_x,
    "sobel_y": sobel_y,
    "sobel": sobel,
    "threshold": threshold,
    "undistort": warp("undistort"),
    "crop": crop,
    "rotate": warp("rotate"),
    "resize": resize,
    "posterize": posterize,
    "binary": binary,
    "flip": flip,
}


def run(plane, graph, blended=False):
    """The graph's plane and the mask of samples next to a discontinuity of any stage.

    `blended` also marks what a library changes that blends a warp's outermost samples with the fill
    where the definition cuts.
    """
    near = np.zeros(plane.shape, bool)
    for name, argument in pipelines.parse(graph):
        near = carried(plane, near, name, argument) | jumps(plane, name, argument, blended)
        plane = FILTERS[name](plane, argument)
    return plane, near


def jumps(plane, name, argument, blended):
    """Samples of a filter's output that stand at one of its own jumps.

    A value exactly at a jump comes from a stage with few levels, which no rounding moves.
    """
    height, width = plane.shape
    if name == "threshold":
        distance = np.abs(plane - float(argument or pipelines.THRESHOLD))
        return (distance < NEAR) & (distance != 0)
    if name == "binary":
        return (np.abs(plane) < NEAR) & (plane != 0)
    if name == "posterize":
        steps = plane * int(argument or pipelines.POSTERIZE_LEVELS)
        distance = np.abs(steps - np.rint(steps))
        return (distance < NEAR) & (distance != 0)
    if name in ("rotate", "undistort"):
        sx, sy = warp_coordinates(name, argument, width, height)
        # f32 coordinates of a 1920 plane are good to about 1e-4 of a sample.
        margin = 1e-3
        beyond = np.maximum(np.maximum(-sx, sx - (width - 1)), np.maximum(-sy, sy - (height - 1)))
        return (beyond > -margin) & (beyond < (1 if blended else margin))
    size = FILTERS[name](plane, argument).shape
    return np.zeros(size, bool)


def carried(plane, near, name, argument):
    """Samples of a filter's output that read a marked sample of its input."""
    if not near.any():
        return np.zeros(FILTERS[name](plane, argument).shape, bool)
    marked = near.astype(np.float64)
    if name in ("sobel_x", "sobel_y", "sobel", "blur"):
        return correlate(marked, np.ones((3, 3))) > 0
    if name in ("threshold", "binary", "posterize"):
        return near
    return FILTERS[name](marked, argument) > 0

"""The filters as Halide algorithms: what is computed, never in which order.

Every filter takes a `Stage` and gives one; where a filter is made of several Funcs that a schedule
may want to place, they are in `Stage.parts`. Schedules are in `halide_schedules.py`.
"""

import math
import os
from dataclasses import dataclass, field

# Read once by Halide's runtime when its thread pool starts; 2 means the caller and one more.
os.environ.setdefault("HL_NUM_THREADS", "2")

import halide as hl  # noqa: E402
import numpy as np  # noqa: E402

import pipelines  # noqa: E402

X, Y = hl.Var("x"), hl.Var("y")
F32, I32 = hl.Float(32), hl.Int(32)


@dataclass
class Stage:
    """A plane that some Func (or the input) defines, with its size in samples."""

    func: object
    width: int
    height: int
    parts: dict = field(default_factory=dict)

    def __getitem__(self, at):
        return self.func[at[0], at[1]]

    def edge(self):
        """The plane with its edge samples repeated outwards without end."""
        box = [(0, self.width), (0, self.height)]
        return hl.BoundaryConditions.repeat_edge(self.func, box)


def source(width, height):
    """The input plane: dense f32, exactly this size."""
    param = hl.ImageParam(F32, 2, "source")
    param.dim(0).set_bounds(0, width)
    param.dim(1).set_bounds(0, height).set_stride(width)
    return Stage(param, width, height)


def blur(src, columns_first=True):
    """[1 2 1] by [1 2 1] over 16; `parts["lines"]` is the first of the two passes."""
    p = src.edge()
    lines, out = hl.Func("blur_lines"), hl.Func("blur")
    if columns_first:
        lines[X, Y] = p[X, Y - 1] + 2 * p[X, Y] + p[X, Y + 1]
        total = lines[X - 1, Y] + 2 * lines[X, Y] + lines[X + 1, Y]
    else:
        lines[X, Y] = p[X - 1, Y] + 2 * p[X, Y] + p[X + 1, Y]
        total = lines[X, Y - 1] + 2 * lines[X, Y] + lines[X, Y + 1]
    out[X, Y] = total * hl.f32(1 / 16)
    return Stage(out, src.width, src.height, {"lines": lines})


def gaussian(src, sigma):
    """Separable Gaussian of radius ceil(3 sigma), weights summing to one."""
    p = src.edge()
    radius = math.ceil(3 * sigma)
    weights = [math.exp(-(i * i) / (2 * sigma * sigma)) for i in range(-radius, radius + 1)]
    weights = [w / sum(weights) for w in weights]
    lines, out = hl.Func("gaussian_lines"), hl.Func("gaussian")
    lines[X, Y] = sum(hl.f32(w) * p[X, Y + i - radius] for i, w in enumerate(weights))
    out[X, Y] = sum(hl.f32(w) * lines[X + i - radius, Y] for i, w in enumerate(weights))
    return Stage(out, src.width, src.height, {"lines": lines})


def gradients(src, columns_first=True):
    """Both Sobel derivatives as expressions that share their first pass, and that pass's Funcs."""
    p = src.edge()
    smooth, slope = hl.Func("smooth"), hl.Func("slope")
    if columns_first:
        smooth[X, Y] = p[X, Y - 1] + 2 * p[X, Y] + p[X, Y + 1]
        slope[X, Y] = p[X, Y + 1] - p[X, Y - 1]
        gx = smooth[X + 1, Y] - smooth[X - 1, Y]
        gy = slope[X - 1, Y] + 2 * slope[X, Y] + slope[X + 1, Y]
    else:
        smooth[X, Y] = p[X - 1, Y] + 2 * p[X, Y] + p[X + 1, Y]
        slope[X, Y] = p[X + 1, Y] - p[X - 1, Y]
        gx = slope[X, Y - 1] + 2 * slope[X, Y] + slope[X, Y + 1]
        gy = smooth[X, Y + 1] - smooth[X, Y - 1]
    return gx, gy, {"smooth": smooth, "slope": slope}


def sobel_x(src):
    gx, _, parts = gradients(src)
    return pointwise(src, "sobel_x", gx, parts)


def sobel_y(src):
    _, gy, parts = gradients(src)
    return pointwise(src, "sobel_y", gy, parts)


def sobel(src, columns_first=True):
    gx, gy, parts = gradients(src, columns_first)
    return pointwise(src, "sobel", hl.sqrt(gx * gx + gy * gy), parts)


def pointwise(src, name, value, parts=None):
    """A plane of the same size whose sample at (X, Y) is `value`."""
    out = hl.Func(name)
    out[X, Y] = value
    return Stage(out, src.width, src.height, parts or {})


def threshold(src, t=pipelines.THRESHOLD):
    v = src[X, Y]
    return pointwise(src, "threshold", hl.select(v > hl.f32(t), v, hl.f32(0)))


def posterize(src, levels=pipelines.POSTERIZE_LEVELS):
    level = hl.clamp(hl.floor(src[X, Y] * hl.f32(levels)), hl.f32(0), hl.f32(levels - 1))
    value = level * hl.f32(1 / (levels - 1))
    return pointwise(src, "posterize", value)


def binary(src):
    return pointwise(src, "binary", hl.select(src[X, Y] > hl.f32(0), hl.f32(1), hl.f32(0)))


def flip(src, axis="h"):
    at = (src.width - 1 - X, Y) if axis == "h" else (X, src.height - 1 - Y)
    return pointwise(src, "flip", src[at])


def crop(src, fraction=0.8):
    w, h, left, top = pipelines.crop_box(src.width, src.height, fraction)
    out = hl.Func("crop")
    out[X, Y] = src[X + left, Y + top]
    return Stage(out, w, h)


def bilinear(src, sx, sy):
    """Sample `src` at (sx, sy): loads are clamped, what lies outside the plane is 0.

    The corner is clamped to one before the last sample, so all four loads share one index and the
    last row and column come out right with a weight of one.
    """
    right, bottom = src.width - 1, src.height - 1
    x0 = hl.clamp(hl.cast(I32, sx), 0, right - 1)
    y0 = hl.clamp(hl.cast(I32, sy), 0, bottom - 1)
    fx, fy = sx - x0, sy - y0
    a, b, c, d = src[x0, y0], src[x0 + 1, y0], src[x0, y0 + 1], src[x0 + 1, y0 + 1]
    upper, lower = a + fx * (b - a), c + fx * (d - c)
    inside = (sx >= 0) & (sx <= right) & (sy >= 0) & (sy <= bottom)
    return hl.select(inside, upper + fy * (lower - upper), hl.f32(0))


def offsets(src):
    """The centre of a plane, and the offset of sample (X, Y) from it."""
    cx, cy = hl.f32((src.width - 1) / 2), hl.f32((src.height - 1) / 2)
    return cx, cy, hl.cast(F32, X) - cx, hl.cast(F32, Y) - cy


def rotation(src, degrees):
    """Source coordinates of a rotation about the centre."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    cx, cy, dx, dy = offsets(src)
    sx = cx + (hl.f32(c) * dx - hl.f32(s) * dy)
    sy = cy + (hl.f32(s) * dx + hl.f32(c) * dy)
    return sx, sy


def rotate(src, degrees):
    return pointwise(src, "rotate", bilinear(src, *rotation(src, degrees)))


def undistort(src, k1=pipelines.UNDISTORT_K1):
    cx, cy, dx, dy = offsets(src)
    corner = ((src.width - 1) / 2) ** 2 + ((src.height - 1) / 2) ** 2
    scale = hl.f32(1) + hl.f32(k1 / corner) * (dx * dx + dy * dy)
    return pointwise(src, "undistort", bilinear(src, cx + dx * scale, cy + dy * scale))


def resize(src, width, height):
    """Bilinear with aligned pixel centres; coordinates beyond the edge repeat it."""
    sx = (hl.cast(F32, X) + hl.f32(0.5)) * hl.f32(src.width / width) - hl.f32(0.5)
    sy = (hl.cast(F32, Y) + hl.f32(0.5)) * hl.f32(src.height / height) - hl.f32(0.5)
    sx = hl.clamp(sx, hl.f32(0), hl.f32(src.width - 1))
    sy = hl.clamp(sy, hl.f32(0), hl.f32(src.height - 1))
    out = pointwise(src, "resize", bilinear(src, sx, sy))
    return Stage(out.func, width, height)


FILTERS = {
    "blur": blur,
    "sobel_x": sobel_x,
    "sobel_y": sobel_y,
    "sobel": sobel,
    "threshold": threshold,
    "undistort": undistort,
    "crop": crop,
    "rotate": rotate,
    "posterize": posterize,
    "binary": binary,
}


def apply(src, name, argument):
    """One filter of graph text, arguments as `evener filter` reads them."""
    if name == "resize":
        return resize(src, *(int(n) for n in argument.split(":")))
    if name == "flip":
        return flip(src, argument or "h")
    if name == "gaussian":
        return gaussian(src, float(argument or 1))
    arguments = [float(argument)] if argument else []
    return FILTERS[name](src, *arguments)


def run_plain(plane, graph):
    """Evaluate graph text with every stage at root: for checking, not for timing."""
    height, width = plane.shape
    src = source(width, height)
    stage = src
    for name, argument in pipelines.parse(graph):
        stage = apply(stage, name, argument)
        stage.func.compute_root()
    src.func.set(hl.Buffer(plane))
    return np.array(stage.func.realize([stage.width, stage.height]), copy=True)

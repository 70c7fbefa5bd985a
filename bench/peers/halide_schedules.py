"""Hand schedules for the seven pipelines, as families of a few parameters each.

A family is one way of running a pipeline (inline everything, every stage at root, tiles, strips
with a line buffer, …); `halide_search.py` walks its parameters. Heights are in rows, widths in
samples, `vector` in f32 lanes. A strip as high as the plane means one thread.
"""

from dataclasses import dataclass
from typing import Callable

import halide as hl

import halide_graphs as hg
import pipelines

SHIFT = hl.TailStrategy.ShiftInwards
XO, YO, XI, YI, YU = (hl.Var(n) for n in ("xo", "yo", "xi", "yi", "yu"))
X, Y = hg.X, hg.Y


@dataclass
class Built:
    """A scheduled pipeline that is ready to compile; `flat` means 1-D buffers."""

    source: object
    out: object
    width: int
    height: int
    flat: bool = False


@dataclass(frozen=True)
class Family:
    """A parametrised schedule: `build(**parameters)` gives a `Built`.

    `rewrite` marks a family that changes the algorithm and not only its order, as only somebody
    who studied this very pipeline would write it. Such a family is measured and shown apart.
    """

    name: str
    space: dict
    build: Callable
    rewrite: bool = False


def families(letter, width, height):
    """Every family of a pipeline at one size; all give the same plane."""
    return {
        "A": stencil_families,
        "B": lambda w, h: warp_chain_families(w, h, 6),
        "C": lambda w, h: warp_chain_families(w, h, 60),
        "D": pointwise_families,
        "E": lambda w, h: tonal_warp_families(w, h, "E"),
        "F": lambda w, h: tonal_warp_families(w, h, "F"),
        "G": lambda w, h: tonal_warp_families(w, h, "G"),
    }[letter](width, height)


def dense(src, stage):
    """Fix the output's size and stride, so that no bounds are computed at run time."""
    out = stage.func
    out.bound(X, 0, stage.width).bound(Y, 0, stage.height)
    buffer = out.output_buffer()
    buffer.dim(0).set_bounds(0, stage.width)
    buffer.dim(1).set_bounds(0, stage.height).set_stride(stage.width)
    return Built(src.func, out, stage.width, stage.height)


def strip_heights(height):
    """Even shares of the plane first, then fixed heights."""
    shares = [-(-height // n) for n in (2, 4, 8)]
    return tuple(dict.fromkeys(shares + [h for h in (16, 32, 64, 128) if h < height] + [height]))


def rows(func, height, rows_each, vector):
    """Strips of rows over the threads, vectorised along x."""
    func.split(Y, YO, YI, rows_each, SHIFT).vectorize(X, vector)
    if rows_each < height:
        func.parallel(YO)


# --- A: blur, sobel, threshold -----------------------------------------------------------------


def stencil(width, height, blur_columns=True, sobel_columns=True):
    src = hg.source(width, height)
    smooth = hg.blur(src, blur_columns)
    edges = hg.sobel(smooth, sobel_columns)
    return src, smooth, edges, hg.threshold(edges, 0.25)


def stencil_families(width, height):
    strips = strip_heights(height)
    either = (True, False)

    def inline(rows_each, vector):
        src, _, _, out = stencil(width, height)
        rows(out.func, height, rows_each, vector)
        return dense(src, out)

    def root(rows_each, vector):
        """Every stage over the whole plane, one after the other."""
        src, smooth, edges, out = stencil(width, height)
        for stage in (smooth, edges):
            stage.func.compute_root().vectorize(X, vector).parallel(Y, rows_each)
        rows(out.func, height, rows_each, vector)
        return dense(src, out)

    def root_fused(rows_each, vector):
        """The blurred plane at root, the rest pointwise after the derivatives."""
        src, smooth, _, out = stencil(width, height)
        smooth.func.compute_root().vectorize(X, vector).parallel(Y, rows_each)
        rows(out.func, height, rows_each, vector)
        return dense(src, out)

    def tile(rows_each, tile_width, vector, blur_columns, sobel_columns):
        """The blurred box of a tile in scratch memory, halo recomputed."""
        src, smooth, _, out = stencil(width, height, blur_columns, sobel_columns)
        if tile_width >= width:
            rows(out.func, height, rows_each, vector)
            smooth.func.compute_at(out.func, YO).vectorize(X, vector)
        else:
            out.func.tile(X, Y, XO, YO, XI, YI, tile_width, rows_each, SHIFT)
            out.func.vectorize(XI, vector).parallel(YO)
            smooth.func.compute_at(out.func, XO).vectorize(X, vector)
        return dense(src, out)

    def lines(rows_each, vector, step, blur_step, blur_columns, sobel_columns, first_pass):
        """Line buffers: blurred rows slide down a strip, `step` output rows at a time."""
        src, smooth, _, out = stencil(width, height, blur_columns, sobel_columns)
        func, blurred = out.func, smooth.func
        rows(func, height, rows_each, vector)
        if step > 1:
            func.split(YI, YI, YU, step, SHIFT).reorder(YU, X, YI, YO).unroll(YU)
        blurred.store_at(func, YO).compute_at(func, YI)
        if blur_step > 1:
            blurred.split(Y, Y, YU, blur_step, hl.TailStrategy.RoundUp).vectorize(X, vector)
            blurred.reorder(YU, X, Y).unroll(YU)
        else:
            blurred.vectorize(X, vector)
        if first_pass == "row":
            passed = smooth.parts["lines"]
            if blur_columns:
                passed.compute_at(blurred, Y)
            else:
                passed.store_at(func, YO).compute_at(func, YI)
            passed.vectorize(X, vector)
        return dense(src, out)

    plain = {"rows_each": strips, "vector": (16, 8)}
    return [
        Family("inline", plain, inline),
        Family("root", plain, root),
        Family("root_fused", plain, root_fused),
        Family(
            "tile",
            {
                "rows_each": tuple(h for h in strips if h <= 64) or strips,
                "tile_width": (width, 512, 256),
                "vector": (16, 8),
                "blur_columns": either,
                "sobel_columns": either,
            },
            tile,
        ),
        Family(
            "lines",
            {
                "step": (4, 2, 1, 8, 6),
                "blur_step": (2, 1, 4),
                "rows_each": strips,
                "vector": (16, 8),
                "blur_columns": either,
                "sobel_columns": (False, True),
                "first_pass": ("inline", "row"),
            },
            lines,
        ),
    ]


# --- B, C: undistort, rotate, crop -------------------------------------------------------------


def warp_tiles(func, height, rows_each, tile_width, vector):
    """Tiles of a warp, rows of tiles over the threads."""
    func.tile(X, Y, XO, YO, XI, YI, tile_width, rows_each, SHIFT).vectorize(XI, vector)
    if rows_each < height:
        func.parallel(YO)


TILE_WIDTHS = (64, 32, 128, 256)
WARP_SPACE = {"rows_each": (32, 16, 8, 64), "tile_width": TILE_WIDTHS, "vector": (8, 16, 4)}


def warp_chain_families(width, height, degrees):
    def chain():
        src = hg.source(width, height)
        straight = hg.undistort(src)
        return src, straight, hg.crop(hg.rotate(straight, degrees))

    def inline(rows_each, tile_width, vector):
        """Four undistorted samples, sixteen loads, for each sample put out."""
        src, _, out = chain()
        warp_tiles(out.func, out.height, rows_each, tile_width, vector)
        return dense(src, out)

    def root(rows_each, tile_width, vector, first_vector):
        """The box of the undistorted plane that the crop leaves is stored whole."""
        src, straight, out = chain()
        warp_tiles(straight.func.compute_root(), height, 16, 64, first_vector)
        warp_tiles(out.func, out.height, rows_each, tile_width, vector)
        return dense(src, out)

    def tile(rows_each, tile_width, vector, first_vector):
        """The undistorted box under a tile, in scratch memory."""
        src, straight, out = chain()
        warp_tiles(out.func, out.height, rows_each, tile_width, vector)
        straight.func.compute_at(out.func, XO).vectorize(X, first_vector)
        return dense(src, out)

    def strip(rows_each, vector, first_vector):
        """The undistorted box under a strip of full rows."""
        src, straight, out = chain()
        rows(out.func, out.height, rows_each, vector)
        straight.func.compute_at(out.func, YO).vectorize(X, first_vector)
        return dense(src, out)

    both = {**WARP_SPACE, "vector": (8, 16), "first_vector": (8, 16)}
    return [
        Family("inline", WARP_SPACE, inline),
        Family("root", both, root),
        Family("tile", {**both, "rows_each": (32, 64, 16, 128)}, tile),
        Family("strip", {"rows_each": (32, 64), "vector": (8, 16), "first_vector": (8,)}, strip),
    ]


# --- D: posterize, threshold, binary -----------------------------------------------------------


def pointwise_families(width, height):
    def chain(src):
        return hg.binary(hg.threshold(hg.posterize(src)))

    def fused(rows_each, vector):
        src = hg.source(width, height)
        out = chain(src)
        rows(out.func, height, rows_each, vector)
        return dense(src, out)

    def flat(shares, vector, unroll):
        """One pass over the plane as one long row, so that short rows cost nothing."""
        size = width * height
        param = hl.ImageParam(hg.F32, 1, "source")
        param.dim(0).set_bounds(0, size)

        class Row:
            """The one-dimensional input behind the two-dimensional filters."""

            width, height = size, 1

            def __getitem__(self, at):
                return param[at[0]]

        value = chain(Row()).func
        out = hl.Func("flat")
        out[X] = value[X, 0]
        out.bound(X, 0, size).output_buffer().dim(0).set_bounds(0, size)
        share = -(-size // shares // (vector * unroll)) * vector * unroll
        out.split(X, XO, XI, share, SHIFT).vectorize(XI, vector)
        if unroll > 1:
            out.unroll(XI, unroll)
        if shares > 1:
            out.parallel(XO)
        return Built(param, out, width, height, flat=True)

    def root(rows_each, vector):
        src = hg.source(width, height)
        levels = hg.posterize(src)
        kept = hg.threshold(levels)
        out = hg.binary(kept)
        for stage in (levels, kept):
            stage.func.compute_root().vectorize(X, vector).parallel(Y, rows_each)
        rows(out.func, height, rows_each, vector)
        return dense(src, out)

    plain = {"rows_each": strip_heights(height), "vector": (16, 32, 8)}
    chunks = {"shares": (2, 1, 4, 8, 16, 32), "vector": (16, 32, 8), "unroll": (1, 2, 4)}
    return [
        Family("fused", plain, fused),
        Family("flat", chunks, flat),
        Family("root", {"rows_each": strip_heights(height)[:3], "vector": (16,)}, root),
    ]


# --- E, F, G: a rotation by 30 degrees among tonal filters -------------------------------------


def tonal_warp_families(width, height, letter):
    def chain():
        """The pipeline and the stage that stands before the rotation."""
        src = hg.source(width, height)
        if letter == "E":
            before = hg.binary(hg.threshold(src))
            return src, before, hg.rotate(before, 30)
        if letter == "F":
            before = hg.threshold(src)
            return src, before, hg.binary(hg.rotate(before, 30))
        return src, None, hg.binary(hg.threshold(hg.rotate(src, 30)))

    def inline(rows_each, tile_width, vector):
        src, _, out = chain()
        warp_tiles(out.func, height, rows_each, tile_width, vector)
        return dense(src, out)

    def full_rows(rows_each, vector):
        src, _, out = chain()
        rows(out.func, height, rows_each, vector)
        return dense(src, out)

    def root(rows_each, tile_width, vector):
        """What stands before the rotation (the rotation itself in G) is stored whole."""
        src, before, out = chain()
        before.func.compute_root().vectorize(X, 16).parallel(Y, 32)
        warp_tiles(out.func, height, rows_each, tile_width, vector)
        return dense(src, out)

    def tile(rows_each, tile_width, vector):
        src, before, out = chain()
        warp_tiles(out.func, height, rows_each, tile_width, vector)
        # The box of a tile ends anywhere, and a rounded-up row would read beyond the input.
        guard = hl.TailStrategy.GuardWithIf
        before.func.compute_at(out.func, XO).vectorize(X, vector, guard)
        return dense(src, out)

    def packed(rows_each, tile_width, vector):
        """The four binary corners of every sample in one byte: one load instead of four."""
        return corners(width, height, rows_each, tile_width, vector)

    found = [
        Family("inline", WARP_SPACE, inline),
        Family("full_rows", {"rows_each": strip_heights(height), "vector": (8, 16)}, full_rows),
    ]
    if letter != "G":
        found.append(Family("root", WARP_SPACE, root))
        found.append(Family("tile", WARP_SPACE, tile))
    if letter == "E":
        found.append(Family("packed", WARP_SPACE, packed, rewrite=True))
    return found


def corners(width, height, rows_each, tile_width, vector):
    """Pipeline E with the corners of each sample packed into the bits of one byte."""
    src = hg.source(width, height)
    kept = hg.threshold(src)
    bits, quad, out = hl.Func("bits"), hl.Func("quad"), hl.Func("rotate")
    at = kept[hl.min(X, width - 1), hl.min(Y, height - 1)]
    bits[X, Y] = hl.cast(hl.UInt(8), at > 0)
    quad[X, Y] = (
        bits[X, Y] | (bits[X + 1, Y] << 1) | (bits[X, Y + 1] << 2) | (bits[X + 1, Y + 1] << 3)
    )
    sx, sy = hg.rotation(src, 30)
    x0 = hl.clamp(hl.cast(hg.I32, sx), 0, width - 2)
    y0 = hl.clamp(hl.cast(hg.I32, sy), 0, height - 2)
    fx, fy = sx - x0, sy - y0
    code, zero = hl.cast(hg.I32, quad[x0, y0]), hl.f32(0)

    def weight(bit, share):
        return hl.select((code & bit) != 0, share, zero)

    upper = weight(1, hl.f32(1) - fx) + weight(2, fx)
    lower = weight(4, hl.f32(1) - fx) + weight(8, fx)
    inside = (sx >= 0) & (sx <= width - 1) & (sy >= 0) & (sy <= height - 1)
    out[X, Y] = hl.select(inside, upper + fy * (lower - upper), zero)
    quad.compute_root().vectorize(X, 32).parallel(Y, 32)
    warp_tiles(out, height, rows_each, tile_width, vector)
    return dense(src, hg.Stage(out, width, height))


def reference(letter, width, height):
    """The pipeline evaluated stage by stage, for checking a schedule's output."""
    plane = pipelines.test_plane(width, height)
    graph = next(p.graph for p in pipelines.PIPELINES if p.letter == letter)
    return plane, hg.run_plain(plane, graph)

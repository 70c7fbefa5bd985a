"""What kornia-rs has of the graphs A to G on gray frames: the operators that are left out have no like there.

It has neither thresholds nor tables nor maps, so B, C and D are missing, and of the others what it computes is less.
"""

import math

import kornia_rs
import numpy as np

NAME = f"kornia-rs {kornia_rs.__version__}"


def edges(frame):
    """Graph A without its threshold, as floats. The Gaussian has not the weights of `blur`."""
    smooth = kornia_rs.imgproc.gaussian_blur(frame[..., None], (3, 3), (0.85, 0.85))
    return kornia_rs.imgproc.sobel(smooth.astype(np.float32), 3)


def turned(frame):
    """Graphs E, F and G without threshold and binary."""
    height, width = frame.shape
    c, s = math.cos(math.radians(30)), math.sin(math.radians(30))
    cx, cy = (width - 1) / 2, (height - 1) / 2
    matrix = (c, s, cx - c * cx - s * cy, -s, c, cy + s * cx - c * cy)
    return kornia_rs.imgproc.warp_affine(frame[..., None], matrix, (height, width), "bilinear")


STEPS = {"A": edges, "E": turned, "F": turned, "G": turned}

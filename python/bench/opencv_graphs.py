"""The graphs A to G with OpenCV on gray frames of 8 bits, operator by operator.

A way is a function that makes a step: `step(frame, out)` with planes of its own between operators, so each thread has one.
A step that crops returns the part instead of copying it.
"""

import concurrent.futures
import math
import os

import cv2
import numpy as np

REPLICATE, CONSTANT = cv2.BORDER_REPLICATE, cv2.BORDER_CONSTANT
LINE = np.array([1, 2, 1], np.float32) / 4
NAME = f"OpenCV {cv2.__version__}"


def edges(smooth):
    """Graph A, from a way to blur."""

    def make(height, width):
        blurred, across, down, size = (np.empty((height, width), np.float32) for _ in range(4))
        blurred8 = np.empty((height, width), np.uint8)

        def step(frame, out):
            if smooth == "float":
                source = cv2.sepFilter2D(frame, cv2.CV_32F, LINE, LINE, blurred, borderType=REPLICATE)
            else:
                source = cv2.GaussianBlur(frame, (3, 3), 0, blurred8, 0, REPLICATE)
            cv2.Sobel(source, cv2.CV_32F, 1, 0, across, borderType=REPLICATE)
            cv2.Sobel(source, cv2.CV_32F, 0, 1, down, borderType=REPLICATE)
            cv2.magnitude(across, down, size)
            cv2.threshold(size, 0.25 * 255, 0, cv2.THRESH_TOZERO, size)
            return cv2.convertScaleAbs(size, out)

        return step

    return make


def turn(degrees, height, width):
    """The matrix from places of the result to those of the frame."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    cx, cy = (width - 1) / 2, (height - 1) / 2
    return np.array([[c, -s, cx - c * cx + s * cy], [s, c, cy - s * cx - c * cy]])


def rotate(frame, out, matrix, size):
    return cv2.warpAffine(frame, matrix, size, out, cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, CONSTANT)


def lens_and_turn(degrees, maps, cropped):
    """Graphs B and C, from the maps that `remap` takes, and from where the crop is done."""

    def make(height, width):
        y, x = np.mgrid[0:height, 0:width].astype(np.float64)
        cx, cy = (width - 1) / 2, (height - 1) / 2
        scale = 1 - 0.1 * ((x - cx) ** 2 + (y - cy) ** 2) / (cx * cx + cy * cy)
        map_x, map_y = ((c + (at - c) * scale).astype(np.float32) for c, at in ((cx, x), (cy, y)))
        if maps == "fixed":
            map_x, map_y = cv2.convertMaps(map_x, map_y, cv2.CV_16SC2)
        straight, turned = (np.empty((height, width), np.uint8) for _ in range(2))
        w, h = int(0.8 * width), int(0.8 * height)
        left, top = (width - w) // 2, (height - h) // 2
        matrix = turn(degrees, height, width)
        part = matrix.copy()
        part[:, 2] += matrix[:, 0] * left + matrix[:, 1] * top

        def step(frame, out):
            cv2.remap(frame, map_x, map_y, cv2.INTER_LINEAR, straight, CONSTANT)
            if cropped == "in the turn":
                return rotate(straight, out, part, (w, h))
            return rotate(straight, turned, matrix, (width, height))[top : top + h, left : left + w]

        return step

    return make


def levels(height, width):
    """Graph D."""
    codes = np.floor(np.arange(256) / 255 * 8).clip(0, 7)
    table = np.rint(codes / 7 * 255).astype(np.uint8)
    fewer, kept = (np.empty((height, width), np.uint8) for _ in range(2))

    def step(frame, out):
        cv2.LUT(frame, table, fewer)
        cv2.threshold(fewer, 127, 0, cv2.THRESH_TOZERO, kept)
        return cv2.threshold(kept, 0, 255, cv2.THRESH_BINARY, out)[1]

    return step


def tones_and_turn(order):
    """Graphs E, F and G."""

    def make(height, width):
        matrix = turn(30, height, width)
        planes = [np.empty((height, width), np.uint8) for _ in range(2)]
        operators = {
            "threshold": lambda frame, out: cv2.threshold(frame, 127, 0, cv2.THRESH_TOZERO, out)[1],
            "binary": lambda frame, out: cv2.threshold(frame, 0, 255, cv2.THRESH_BINARY, out)[1],
            "rotate": lambda frame, out: rotate(frame, out, matrix, (width, height)),
        }
        first, second, third = (operators[name] for name in order)

        def step(frame, out):
            return third(second(first(frame, planes[0]), planes[1]), out)

        return step

    return make


def warps(degrees):
    return {
        f"{maps} maps, crop {cropped}": lens_and_turn(degrees, maps, cropped)
        for maps in ("float", "fixed")
        for cropped in ("in the turn", "by a slice")
    }


WAYS = {
    "A": {"blur to floats": edges("float"), "blur to 8 bits": edges("8 bits")},
    "B": warps(6),
    "C": warps(60),
    "D": {"LUT": levels},
    "E": {"as written": tones_and_turn(("threshold", "binary", "rotate"))},
    "F": {"as written": tones_and_turn(("threshold", "rotate", "binary"))},
    "G": {"as written": tones_and_turn(("rotate", "threshold", "binary"))},
}


def one_thread_a_call(make, frames, out):
    """OpenCV divides each operator among its threads."""
    step = make(*frames.shape[1:])

    def work():
        cv2.setNumThreads(os.cpu_count())
        for number in range(len(frames)):
            step(frames[number], out[number])

    return work


def frames_side_by_side(make, frames, out):
    """Threads of Python take frames, and OpenCV divides nothing."""
    count = os.cpu_count()
    steps = [make(*frames.shape[1:]) for _ in range(count)]
    pool = concurrent.futures.ThreadPoolExecutor(count)

    def share(first):
        for number in range(first, len(frames), count):
            steps[first](frames[number], out[number])

    def work():
        cv2.setNumThreads(1)
        list(pool.map(share, range(count)))

    return work


def all_ways(letter, frames, out):
    """Every way to filter all frames: name -> (work, step)."""
    return {
        f"{name}, {how}": (threads(make, frames, out), make(*frames.shape[1:]))
        for name, make in WAYS[letter].items()
        for how, threads in (("its own threads", one_thread_a_call), ("frames side by side", frames_side_by_side))
    }

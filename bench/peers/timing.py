"""How a frame is timed: warm, same buffers, every frame by itself, the median counts."""

import statistics
import time

# A round of one peer on one pipeline runs at least this many frames, and about this long.
MIN_FRAMES = 30
ROUND_SECONDS = 0.2
MAX_FRAMES = 4000


def frame_ms(step, frames):
    """Time `frames` calls of `step` one by one, in milliseconds."""
    clock = time.perf_counter
    times = []
    for _ in range(frames):
        begin = clock()
        step()
        times.append((clock() - begin) * 1e3)
    return times


def round_of(step):
    """One round: a warm-up, then enough frames; returns what the raw file keeps of it."""
    warm = frame_ms(step, 3)
    estimate = max(min(warm), 1e-4)
    frames = int(ROUND_SECONDS * 1e3 / estimate)
    frames = max(MIN_FRAMES, min(MAX_FRAMES, frames))
    frame_ms(step, max(2, frames // 10))
    times = sorted(frame_ms(step, frames))
    return {
        "frames": frames,
        "min": times[0],
        "median": statistics.median(times),
        "mean": statistics.fmean(times),
        "p99": times[min(len(times) - 1, int(len(times) * 0.99))],
    }


def quick(step, seconds=0.05, least=5, most=60):
    """A cheap score for choosing between variants: the fastest of a few frames, in ms.

    The minimum, because a busy machine only ever adds time, and a choice between variants has to
    survive that; what is reported afterwards is a median.
    """
    first = min(frame_ms(step, 2))
    frames = max(least, min(most, int(seconds * 1e3 / max(first, 1e-4))))
    return min(frame_ms(step, frames))

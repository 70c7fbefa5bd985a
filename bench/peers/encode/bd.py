"""BD-rate: how many more bytes one encoder takes than another for the same quality, over a range of qualities.

Bjøntegaard (VCEG-M33, 2001): the logarithm of the rate as a cubic of the quality through four points, its mean over the
qualities that both have.
"""

import math


def coefficients(points):
    """Newton's divided differences of the polynomial through points, and where it is expanded."""
    xs = [x for x, _ in points]
    if len(set(xs)) != len(xs):
        raise ValueError("two points have the same quality")
    table = [y for _, y in points]
    for order in range(1, len(points)):
        for i in range(len(points) - 1, order - 1, -1):
            table[i] = (table[i] - table[i - 1]) / (xs[i] - xs[i - order])
    return table, xs


def value(polynomial, x):
    table, xs = polynomial
    total = 0.0
    for coefficient, at in zip(reversed(table), reversed(xs)):
        total = total * (x - at) + coefficient
    return total


def mean(polynomial, low, high):
    """The mean over an interval; Simpson's rule is exact for cubics."""
    middle = (low + high) / 2
    return (value(polynomial, low) + 4 * value(polynomial, middle) + value(polynomial, high)) / 6


def bd_rate(reference, other):
    """Percent of bytes that `other` takes more than `reference`; both are four (bytes, quality)."""
    for points in (reference, other):
        if len(points) != 4:
            raise ValueError("a cubic goes through four points")
    curves = [coefficients([(quality, math.log(size)) for size, quality in points]) for points in (reference, other)]
    low = max(min(quality for _, quality in points) for points in (reference, other))
    high = min(max(quality for _, quality in points) for points in (reference, other))
    if low >= high:
        raise ValueError("they have no quality in common")
    difference = mean(curves[1], low, high) - mean(curves[0], low, high)
    return (math.exp(difference) - 1) * 100


if __name__ == "__main__":
    known = [(2634735, 41.3), (1027645, 37.6), (353810, 34.2), (170823, 31.3)]
    assert abs(bd_rate(known, known)) < 1e-9
    tenth = [(size * 1.1, quality) for size, quality in known]
    assert abs(bd_rate(known, tenth) - 10) < 1e-9
    # A curve that is shifted by a constant quality: its cubic is the same, shifted.
    line = [(math.exp(x / 4), float(x)) for x in (30, 33, 36, 39)]
    shifted = [(size, quality + 1) for size, quality in line]
    assert abs(bd_rate(line, shifted) - (math.exp(-0.25) - 1) * 100) < 1e-9
    print("bd.py: as it should be")

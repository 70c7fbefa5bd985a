#!/usr/bin/env python3
"""Draws what a terminal shows as an SVG picture: `tmux capture-pane -p | assets/terminal.py PICTURE.svg`."""

import sys
from html import escape
from pathlib import Path

WIDTH, LINE, LEFT, TOP = 7.8, 19, 18, 46


def main(picture):
    lines = sys.stdin.read().rstrip().splitlines()
    width = LEFT * 2 + WIDTH * max(map(len, lines))
    height = TOP + LINE * len(lines) + 8
    body = [f'<rect width="{width:.0f}" height="{height}" rx="8" fill="#1d2430"/>']
    body += [f'<circle cx="{22 + 20 * i}" cy="18" r="6" fill="{c}"/>'
             for i, c in enumerate(("#ff5f57", "#febc2e", "#28c840"))]
    for row, line in enumerate(lines):
        if not line.strip():
            continue
        command = line.startswith("$ ")
        colour, weight = ("#ffffff", "bold") if command else ("#b8c4d6", "normal")
        body.append(f'<text x="{LEFT}" y="{TOP + LINE * row + 4}" fill="{colour}" font-weight="{weight}" '
                    f'textLength="{WIDTH * len(line):.0f}" xml:space="preserve">{escape(line)}</text>')
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
            'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13">')
    Path(picture).write_text(head + "".join(body) + "</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1])

"""Draws the ratios of a run as an SVG picture: `chart.py RUN.json PICTURE.svg`."""

import json
import sys
from pathlib import Path

COLOURS = {"halide": "#0072b2", "opencv": "#e69f00"}
LEFT, TOP, WIDTH, HEIGHT, GROUP = 46, 30, 720, 190, 88


def ratios(cells, size):
    for cell in cells:
        if cell["size"] == size:
            times = {name: entry["ms"] for name, entry in cell["summary"].items() if entry}
            yield cell["letter"], {peer: times[peer] / times["evener"] for peer in COLOURS}


def panel(cells, size, y):
    top = 6.0
    scale = HEIGHT / top
    out = [f'<text x="{LEFT}" y="{y - 20}">{size[0]}x{size[1]}: time of the peer / time of evener</text>']
    for value in range(0, 7, 1):
        at = y + HEIGHT - value * scale
        weight = 1.5 if value == 1 else 0.4
        out.append(f'<line x1="{LEFT}" x2="{WIDTH}" y1="{at}" y2="{at}" stroke="#888" stroke-width="{weight}"/>')
        out.append(f'<text x="{LEFT - 8}" y="{at + 4}" text-anchor="end">{value}</text>')
    for i, (letter, values) in enumerate(ratios(cells, size)):
        x = LEFT + 14 + i * GROUP
        for k, (peer, ratio) in enumerate(values.items()):
            height = min(ratio, top) * scale
            at = y + HEIGHT - height
            out.append(f'<rect x="{x + k * 32}" y="{at:.1f}" width="29" height="{height:.1f}" fill="{COLOURS[peer]}"/>')
            out.append(f'<text x="{x + k * 32 + 14}" y="{at - 3:.1f}" text-anchor="middle">{ratio:.2g}</text>')
        out.append(f'<text x="{x + 30}" y="{y + HEIGHT + 16}" text-anchor="middle">{letter}</text>')
    return out


def main(run, picture):
    cells = json.loads(Path(run).read_text())["cells"]
    body = panel(cells, [1920, 1080], TOP + 20) + panel(cells, [352, 288], TOP + HEIGHT + 80)
    for k, (peer, colour) in enumerate(COLOURS.items()):
        body.append(f'<rect x="{LEFT + 420 + k * 110}" y="8" width="12" height="12" fill="{colour}"/>')
        body.append(f'<text x="{LEFT + 438 + k * 110}" y="18">{peer.capitalize().replace("cv", "CV")}</text>')
    height = TOP + 2 * HEIGHT + 120
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 20} {height}" font-family="sans-serif" font-size="12">'
    Path(picture).write_text(head + '<rect width="100%" height="100%" fill="#fff"/>' + "".join(body) + "</svg>\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Edges of an array of frames, one call and frame by frame."""

import numpy as np

import evener as ev

frames = np.random.default_rng(1).integers(0, 256, (50, 240, 320), dtype=np.uint8)

graph = ev.blur().sobel().threshold(0.25)
print(graph)
print(graph.explain(frames))

edges, report = graph.profile(frames)
print(report)

# The same frames as they come, say from a camera. The stream stays open between them.
with graph.open(height=240, width=320) as stream:
    for number, result in enumerate(stream.map(iter(frames))):
        assert np.array_equal(result, edges[number])
print("frame by frame the same")

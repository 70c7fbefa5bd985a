"""Frames, a video, a tree of files and a count on a cluster of Ray. Usage: cluster.py [ADDRESS OF THE CLUSTER]"""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import ray

import evener as ev
import evener.ray as evr

ray.init(address=sys.argv[1] if len(sys.argv) > 1 else "local", log_to_driver=False)
print(f"{len(ray.nodes())} nodes")

graph = ev.blur().sobel().threshold(0.25)
frames = np.random.default_rng(1).integers(0, 256, (60, 240, 320), dtype=np.uint8)
ray.data.DataContext.get_current().execution_options.preserve_order = True
edges = ray.data.from_numpy(np.array_split(frames, 6)).map_batches(
    evr.Filter,
    fn_constructor_args=[graph],
    fn_constructor_kwargs={"plans": evr.plans()},
    batch_size=10,
    zero_copy_batch=True,
    num_cpus=1,
    compute=ray.data.ActorPoolStrategy(size=2),
)
print(f"frames as on one machine: {np.array_equal(edges.take_batch(60)['data'], graph(frames))}")

folder = pathlib.Path("cluster").absolute()  # All nodes have to see it.
(folder / "files").mkdir(parents=True, exist_ok=True)
(folder / "files" / "text").write_text("secret")
key = folder / "key"
if not key.exists():
    ev.Key.create(key)
print(evr.encrypt_tree(folder / "files", folder / "sealed", key=key))
print(ev.decrypt((folder / "sealed" / "text.sealed").read_bytes(), key=ev.Key.load(key)))

print(f"12 queens: {evr.queens(12, checkpoint=folder / 'queens.txt')} ways")

if shutil.which("ffmpeg"):
    clip, output = folder / "clip.mp4", folder / "edges.y4m"
    ev.encode("testsrc:320x240:100", clip, keyint=10)
    done = evr.video(clip, output, graph=graph, pieces=4)
    ev.read(clip).pipe(graph).write(folder / "one.y4m")
    print(f"{done.frames} frames, cut at {done.cuts}: {output.read_bytes() == (folder / 'one.y4m').read_bytes()}")

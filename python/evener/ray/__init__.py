"""evener on a Ray cluster: callables for `Dataset.map_batches`, and functions that divide whole jobs.

>>> import ray, evener as ev, evener.ray as evr                     # doctest: +SKIP
>>> edges = ray.data.read_images("frames").map_batches(             # doctest: +SKIP
...     evr.Filter, fn_constructor_args=[ev.blur().sobel()], num_cpus=2, compute=ray.data.ActorPoolStrategy(size=4))

docs/cluster.md is the manual.
"""

from importlib.util import find_spec as _find_spec

if _find_spec("ray") is None:
    raise ImportError("evener.ray needs Ray, which is not installed: pip install 'evener[ray]'", name="ray")

from ._batches import Encode, Encrypt, Filter
from ._place import plans
from ._queens import queens
from ._trees import Tree, encrypt_tree
from ._video import Video, video

__all__ = ["Encode", "Encrypt", "Filter", "Tree", "Video", "encrypt_tree", "plans", "queens", "video"]

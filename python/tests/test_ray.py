"""evener.ray on a cluster of two nodes, which are processes of this machine."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import evener as ev

ray = pytest.importorskip("ray", reason="Ray is not installed; ./ci.sh ray installs it")
from ray.cluster_utils import Cluster

import evener.ray as evr
from evener.ray import _cut, _place, _tasks

# Workers cannot import the tests.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

ffmpeg = pytest.mark.skipif(not shutil.which("ffmpeg"), reason="no ffmpeg")
NODE = {"num_cpus": 1, "object_store_memory": 100 << 20}
COUNTS = {8: 92, 12: 14200, 13: 73712, 14: 365596}  # OEIS A000170.


@pytest.fixture(scope="module")
def cluster():
    # A node that is gone is noticed in seconds.
    checks = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 4}
    head = {**NODE, "include_dashboard": False, "_system_config": checks}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.add_node(**NODE)
    ray.init(address=cluster.address, log_to_driver=False)
    cluster.wait_for_nodes()
    ray.data.DataContext.get_current().enable_progress_bars = False
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    yield cluster
    ray.shutdown()
    cluster.shutdown()


class Slow(evr.Filter):
    """A filter that takes its time, and notes which process began and ended a call for which frame."""

    def __init__(self, notes, *args):
        super().__init__(*args)
        self.notes = notes

    def __call__(self, batch):
        first = int(batch["number"][0])
        self.note("begin", first)
        time.sleep(0.15)
        result = super().__call__(batch)
        assert not batch["frames"].flags.writeable
        self.note("end", first)
        return result

    def note(self, what, first):
        node = ray.get_runtime_context().get_node_id()
        with open(self.notes, "a") as file:
            file.write(f"{what} {first} {os.getpid()} {node}\n")


def noted(path):
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def filtered(frames, notes, size=2):
    """Frames through Slow, in batches of two, as a dictionary of columns."""
    rows = [{"number": number, "frames": frame} for number, frame in enumerate(frames)]
    dataset = ray.data.from_items(rows, override_num_blocks=len(rows) // 2).map_batches(
        Slow,
        fn_constructor_args=[str(notes), ev.blur().sobel(), "frames"],
        batch_size=2,
        batch_format="numpy",
        zero_copy_batch=True,
        num_cpus=1,
        compute=ray.data.ActorPoolStrategy(size=size),
    )
    got = list(dataset.iter_batches(batch_size=None))
    assert np.concatenate([batch["number"] for batch in got]).tolist() == list(range(len(frames)))
    return np.concatenate([batch["frames"] for batch in got])


def test_a_dataset_is_filtered_as_an_array_in_order(cluster, noise, tmp_path):
    frames = noise((24, 48, 64))
    assert np.array_equal(filtered(frames, tmp_path / "notes"), ev.blur().sobel()(frames))
    begun = [int(first) for what, first, *_ in noted(tmp_path / "notes") if what == "begin"]
    assert sorted(begun) == list(range(0, 24, 2)), "nothing is done twice"


def test_callables_outside_of_ray(noise, tmp_path):
    frames = noise((3, 48, 64, 3))
    frames.flags.writeable = False
    got = evr.Filter("blur", into="soft")({"frames": frames})
    assert np.array_equal(got["soft"], ev.blur()(frames)) and got["frames"] is frames
    sizes = np.empty(2, object)
    sizes[:] = [noise((48, 64)), noise((20, 30))]
    for result, frame in zip(evr.Filter("blur")({"frames": sizes})["frames"], sizes):
        assert np.array_equal(result, ev.blur()(frame))
    key = ev.Key.create(tmp_path / "key")
    rows = np.array([b"", b"a", b"text" * 999], object)
    sealed = evr.Encrypt(tmp_path / "key", "bytes", context=b"c")({"bytes": rows, "other": rows})
    assert sealed["other"] is rows
    assert [ev.decrypt(row, key=key, context=b"c") for row in sealed["bytes"]] == rows.tolist()
    names = {"input": np.array(["testsrc:64x48:7"]), "output": np.array([str(tmp_path / "a.264")])}
    done = evr.Encode(qp=30)(names)
    assert done["frames"].tolist() == [7]
    assert done["bytes"].tolist() == [(tmp_path / "a.264").stat().st_size]


def after(notes, count, act):
    """Calls `act(line)` with the last line once there are so many, on a thread."""

    def wait():
        while len(noted(notes)) < count:
            time.sleep(0.02)
        act(noted(notes)[-1])

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    return thread


def test_an_actor_that_is_killed_loses_and_doubles_nothing(cluster, noise, tmp_path):
    frames, notes, killed = noise((30, 48, 64)), tmp_path / "notes", []

    def kill(line):
        killed.append(line[2])
        os.kill(int(line[2]), signal.SIGKILL)

    thread = after(notes, 7, kill)
    assert np.array_equal(filtered(frames, notes), ev.blur().sobel()(frames))
    thread.join()
    later = [pid for _, _, pid, _ in noted(notes)[-4:]]
    assert killed and killed[0] not in later


def test_a_node_that_goes_loses_and_doubles_nothing(cluster, noise, tmp_path):
    extra = cluster.add_node(**NODE)
    cluster.wait_for_nodes()
    frames, notes = noise((60, 48, 64)), tmp_path / "notes"
    removed = []

    def remove(_):
        # The node may have got its actor late.
        while not any(line[3] == extra.node_id for line in noted(notes)):
            time.sleep(0.02)
        cluster.remove_node(extra, allow_graceful=False)
        removed.append(len(noted(notes)))

    thread = after(notes, 3, remove)
    assert np.array_equal(filtered(frames, notes, size=3), ev.blur().sobel()(frames))
    thread.join()
    assert removed and removed[0] < 110, "it went in mid-run"
    assert not any(line[3] == extra.node_id for line in noted(notes)[-4:])


@pytest.mark.parametrize("n", [12, 13, 14])
def test_queens(cluster, n):
    seen = []
    assert evr.queens(n, ranges=9, progress=lambda *far: seen.append(far)) == COUNTS[n]
    assert seen[-1][0] >= 999 and seen == sorted(seen)


def test_a_count_goes_on_from_the_checkpoint_of_the_command_and_back(cluster, tmp_path, command):
    file = tmp_path / "checkpoint"

    def stop(done, _):
        if done > 300:
            raise LookupError("enough")

    with pytest.raises(LookupError) as kept:
        evr.queens(14, checkpoint=file, ranges=20, progress=stop)
    assert kept.tb, "the file is free although the traceback is there"
    begun = file.read_text()
    assert 3 < len(begun.splitlines()) < 25
    done = subprocess.run([command, "queens", "14", "--checkpoint", file], capture_output=True, text=True)
    assert done.stdout.startswith(f"N = 14: {COUNTS[14]} ") and file.read_text().startswith(begun.split("sum")[0])
    assert evr.queens(14, checkpoint=file) == COUNTS[14]
    with pytest.raises(ValueError, match="not of N = 13"):
        evr.queens(13, checkpoint=file)


def killed_once(work, path):
    """The work in a process that dies by -9 the first time."""

    def run(job, workers):
        if not os.path.exists(path):
            open(path, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return work(job, workers)

    return run


def test_a_tree_is_opened_by_the_command(cluster, tmp_path, noise, command, monkeypatch):
    source, sealed = tmp_path / "tree", tmp_path / "sealed"
    files = {"a": 0, "b/c": 1, "b/d e/ü": 70000, "b/d e/f.tar": (1 << 20) + 3}
    for name, size in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(noise(size, seed=size).tobytes())
    (source / "empty").mkdir()
    ev.Key.create(tmp_path / "key")
    monkeypatch.setattr(evr._trees, "FILES", 1)
    monkeypatch.setattr(evr._trees, "_encrypt", killed_once(evr._trees._encrypt, str(tmp_path / "killed")))
    done = evr.encrypt_tree(source, sealed, key=tmp_path / "key")
    assert (done.files, done.bytes) == (4, sum(files.values())) and (tmp_path / "killed").exists()
    found = {str(path.relative_to(sealed)) for path in sealed.rglob("*")}
    assert found == {"b", "b/d e", "empty", *(f"{name}.sealed" for name in files)}
    for name in files:
        run = [command, "decrypt", "-k", tmp_path / "key", sealed / f"{name}.sealed", "-o", "-"]
        assert subprocess.run(run, capture_output=True, check=True).stdout == (source / name).read_bytes()


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """A video with sound, B pictures and a key picture about every 12 frames; its first frame is later than its sound."""
    path = tmp_path_factory.mktemp("clip") / "clip.mkv"
    made = "ffmpeg -v error -f lavfi -i testsrc=s=160x96:r=30000/1001:d=3 -f lavfi -i sine=d=3".split()
    made += "-c:v libx264 -preset ultrafast -bf 2 -b_strategy 0 -g 12 -pix_fmt yuv420p -c:a aac".split()
    if subprocess.run([*made, path]).returncode:
        pytest.skip("this FFmpeg has no libx264")
    return path


def frames_of(path, *, stream="v:0"):
    """A hash of each decoded frame."""
    run = ["ffmpeg", "-v", "error", "-i", path, "-map", f"0:{stream}", "-fps_mode", "passthrough", "-f", "framehash", "-"]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    return [line.split(",")[-1] for line in said.splitlines() if not line.startswith("#")]


@ffmpeg
def test_a_video_is_filtered_as_by_one_process(cluster, clip, tmp_path, monkeypatch):
    graph = ev.blur().rotate(5)
    report = ev.read(clip).pipe(graph).write(tmp_path / "one.y4m")
    monkeypatch.setattr(evr._video, "_work", killed_once(evr._video._work, str(tmp_path / "killed")))
    clip.chmod(0o600)
    done = evr.video(clip, tmp_path / "many.y4m", graph=graph, pieces=4)
    assert (tmp_path / "many.y4m").stat().st_mode & 0o777 == 0o600
    assert len(done.cuts) == 3 and done.frames == report.to_dict()["units"] == 90
    assert (tmp_path / "many.y4m").read_bytes() == (tmp_path / "one.y4m").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["killed", "many.y4m", "one.y4m"]


@ffmpeg
@pytest.mark.parametrize("end", ["264", "mp4", "mkv"])
def test_a_video_is_encoded_as_by_one_process(cluster, clip, tmp_path, end):
    settings = {"preset": "superfast", "qp": 30}
    many, one = tmp_path / f"many.{end}", tmp_path / f"one.{end}"
    done = evr.video(clip, many, graph="blur", encode=settings, pieces=3)
    report = ev.encode(clip, one, graph="blur", keys=done.cuts, **settings)
    assert len(done.cuts) == 2 and done.frames == 90
    assert report.to_dict()["encoded"]["key_pictures"] == 3
    assert frames_of(many) == frames_of(one) and len(frames_of(one)) == 90
    if end != "264":
        assert frames_of(many, stream="a:0") == frames_of(one, stream="a:0")
        assert times(many) == pytest.approx(times(one), abs=0.0011)


def times(path):
    """When frames are shown, beside the sound."""
    run = ["ffprobe", "-v", "error", "-show_entries", "packet=codec_type,pts_time", "-of", "csv=p=0", path]
    rows = [line.split(",") for line in subprocess.run(run, capture_output=True, text=True).stdout.split()]
    first = min(float(row[1]) for row in rows if row[0] == "audio")
    return [float(row[1]) - first for row in rows if row[0] == "video"]


@ffmpeg
def test_containers_by_ffmpeg_have_all_frames_and_the_sound(cluster, clip, tmp_path):
    done = evr.video(clip, tmp_path / "out.mkv", graph="flip=h", pieces=3)
    assert len(done.cuts) == 2 and len(frames_of(tmp_path / "out.mkv")) == 90
    assert frames_of(tmp_path / "out.mkv", stream="a:0") == frames_of(clip, stream="a:0")


@ffmpeg
@pytest.mark.parametrize("end", ["mp4", "ts", "avi", "nut"])
def test_what_containers_say_of_frames_is_kept(cluster, tmp_path, end):
    """A rotated picture, one that is not square, and tags of colour: the same header of y4m as by one process."""
    made = "ffmpeg -v error -f lavfi -i testsrc=s=160x96:r=24:d=2 -pix_fmt yuvj420p -vf setsar=4/3 -g 12".split()
    codec = "-c:v mjpeg" if end in ("avi", "nut") else "-c:v libx264 -colorspace bt709 -color_primaries bt709"
    subprocess.run([*made, *codec.split(), tmp_path / f"made.{end}"], check=True)
    turn = ["-metadata:s:v", "rotate=90"] if end == "mp4" else []
    copy = ["ffmpeg", "-v", "error", "-i", tmp_path / f"made.{end}", "-c", "copy", *turn, tmp_path / f"in.{end}"]
    subprocess.run(copy, check=True)
    ev.read(tmp_path / f"in.{end}").pipe("blur").write(tmp_path / "one.y4m")
    done = evr.video(tmp_path / f"in.{end}", tmp_path / "many.y4m", graph="blur", pieces=2)
    assert len(done.cuts) == 1
    assert (tmp_path / "many.y4m").read_bytes() == (tmp_path / "one.y4m").read_bytes()


@ffmpeg
def test_open_groups_are_not_cut(cluster, clip, tmp_path):
    made = "ffmpeg -v error -f lavfi -i testsrc=s=160x96:r=25:d=3 -pix_fmt yuv420p".split()
    subprocess.run([*made, *"-c:v libx264 -bf 2 -b_strategy 0 -g 12 -x264-params open-gop=1".split(), tmp_path / "a.mp4"])
    subprocess.run([*made, *"-c:v mpeg2video -bf 2 -g 12".split(), tmp_path / "b.ts"], check=True)
    subprocess.run([*made, *"-c:v mpeg2video -bf 0 -g 12".split(), tmp_path / "c.ts"], check=True)
    subprocess.run([*made, *"-c:v libx264 -g 12".split(), tmp_path / "d.264"], check=True)
    assert _cut.probe(str(clip)).starts == (12, 24, 36, 48, 60, 72, 84)
    assert _cut.probe(str(tmp_path / "a.mp4")).starts == ()
    assert _cut.probe(str(tmp_path / "b.ts")).starts == ()
    assert len(_cut.probe(str(tmp_path / "c.ts")).starts) == 6
    assert _cut.probe(str(tmp_path / "d.264")).starts == (), "it has no times"
    with pytest.warns(UserWarning, match="one piece"):
        done = evr.video(tmp_path / "a.mp4", tmp_path / "out.y4m", graph="blur")
    assert (done.frames, done.cuts) == (75, ())


def test_pieces_are_of_about_the_same_length():
    clip = _cut.Clip("", {}, 100, (1, 10, 30, 31, 52, 75, 99), 0.0)
    assert _cut.spread(clip, 1) == []
    assert _cut.spread(clip, 4) == [30, 52, 75]
    # None has a single frame.
    assert _cut.spread(clip, 99) == [10, 30, 52, 75]
    assert _cut.spread(_cut.Clip("", {}, 100, (), 0.0), 4) == []


def test_plans_go_to_new_nodes(cluster, tmp_path, monkeypatch):
    """What is found on one node is remembered on another, and here."""
    key = "some work | some machine | 1 workers"
    plan = {"structure": "tiled", "dispatch": "fifo", "grain": 1, "workers": 1, "devices": 0}
    known = {"version": 1, "plans": {key: {"plan": plan, "cost_s": 1.0, "written": 5}}}

    def learn(job, workers):
        folder, text = job
        os.environ["XDG_CACHE_HOME"] = folder  # Another node has another.
        before = _place._text()
        if text:
            ev._evener._remember(text)
        return before

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "driver"))
    jobs = [(str(tmp_path / "first"), json.dumps(known)), (str(tmp_path / "second"), "")]
    assert [key in before for _, before in _tasks.each(learn, jobs[:1], 1, 0)] == [False]
    assert key in _place._text(), "the driver has learnt it"

    def of_node(job, workers):
        os.environ["XDG_CACHE_HOME"] = job
        return _place.begin(shipped), _place._text()

    shipped = evr.plans()
    [(_, (workers, found))] = _tasks.each(of_node, [str(tmp_path / "second")], 1, 0)
    assert workers == 1 and json.loads(found)["plans"][key]["plan"] == plan
    assert _place.news(shipped) == b"" and len(shipped) < 1000
    for wrong in [b"{}", shipped[:-3], _place._packed("{}"), "text"]:
        with pytest.raises(ValueError, match="not plans"):
            evr.Filter("blur", plans=wrong)


def test_a_filter_begins_with_the_plan_it_is_given(noise, tmp_path, monkeypatch):
    frames, graph = noise((300, 240, 320)), ev.blur().sobel()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "old"))
    graph(frames, workers=2)
    plans = evr.plans()
    assert "blur,sobel" in _place._text()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "new"))
    evr.Filter(graph, plans=plans)
    _, report = graph.profile(frames[:5], workers=2)
    assert "which won before" in report.to_dict()["decisions"][0]


def test_devices_compute_where_there_are_gpus(cluster):
    def device(job, workers):
        return _place._device, workers

    assert [found for _, found in _tasks.each(device, [0], 1, 0)] == [("none", 1)]
    extra = cluster.add_node(**{**NODE, "num_cpus": 2, "num_gpus": 1})
    cluster.wait_for_nodes()
    assert [found for _, found in _tasks.each(device, [0], 2, 1)] == [("auto", 2)]
    cluster.remove_node(extra)
    source = ev.read("testsrc:320x240:2000").pipe(ev.blur().sobel())
    ev._evener._use_device("sim:speed=50")
    try:
        report = source.write("null:", plan="farm")
    finally:
        ev._evener._use_device("none")
    assert report.to_dict()["devices"][0]["units"] > 0
    assert source.write("null:", plan="farm").to_dict()["devices"] == []
    with pytest.raises(ValueError, match="abacus"):
        ev._evener._use_device("abacus")


WRONG = [
    (lambda d: evr.video(d / "none.mkv", d / "out.mkv", graph="blur"), ev.FileError, "none.mkv"),
    (lambda d: evr.video(d / "text", d / "out.mkv", graph="blur"), ev.FileError, "text"),
    (lambda d: evr.video(d / "text", d / "out.mkv"), ValueError, "nothing to do"),
    (lambda d: evr.video(d / "text", d / "out.mkv", graph="blurr"), ev.GraphError, "blurr"),
    (lambda d: evr.video(d / "text", d / "out", graph="blur"), ValueError, "no extension"),
    (lambda d: evr.video(d / "text", d / "out.mkv", graph="blur", pieces=0), ValueError, "pieces=0"),
    (lambda d: evr.video(d / "text", d / "out.mkv", encode={"maxrate": "2M"}), ValueError, "maxrate"),
    (lambda d: evr.video(d / "text", d / "text", graph="blur"), ValueError, "is also the input"),
    (lambda d: evr.video(d / "text", d / "out.mkv", graph="blur", num_cpus=0.5), ValueError, "num_cpus=0.5"),
    (lambda d: evr.encrypt_tree(d, d / "in", key=d / "key"), ValueError, "is inside"),
    (lambda d: evr.encrypt_tree(d, d.parent / "x", key=d / "none"), ev.CryptError, "none"),
    (lambda d: evr.encrypt_tree(d, d.parent / "x", key=d / "key"), ev.CryptError, "link: is neither"),
    (lambda d: evr.encrypt_tree(d / "no", d.parent / "x", key=d / "key"), ev.CryptError, "no: No such"),
    (lambda d: evr.queens(99), ValueError, "99|board"),
    (lambda d: evr.queens(8, ranges=0), ValueError, "ranges=0"),
    (lambda d: evr.queens(8, num_cpus=0), ValueError, "num_cpus=0"),
    (lambda d: evr.queens(8, num_cpus=99), ValueError, "no node of the cluster"),
    (lambda d: evr.queens(8, num_gpus=1), ValueError, "no node of the cluster"),
    (lambda d: evr.queens(8, num_gpus=-1), ValueError, "num_gpus=-1"),
    (lambda d: evr.Filter("blur")({"a": 1, "b": 2}), ValueError, "the columns a, b"),
    (lambda d: evr.Filter("blur", "c")({"a": 1}), ValueError, "no column 'c'"),
    (lambda d: evr.Encode(speed=3), TypeError, "speed"),
    (lambda d: evr.Encrypt(d / "none"), ev.CryptError, "none"),
]


@ffmpeg
@pytest.mark.parametrize("run, error, says", WRONG)
def test_what_is_wrong_is_said(cluster, tmp_path, run, error, says):
    folder = tmp_path / "folder"
    folder.mkdir()
    ev.Key.create(folder / "key")
    (folder / "text").write_text("text")
    (folder / "link").symlink_to("text")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(error, match=says) as raised:
        run(folder)
    assert "\n" not in str(raised.value)
    assert sorted(tmp_path.rglob("*")) == before


@ffmpeg
def test_an_error_of_a_task_is_that_of_the_work(cluster, clip, tmp_path):
    with pytest.raises(ev.GraphError, match="^crop") as raised:
        evr.video(clip, tmp_path / "out.mkv", graph="crop=640:480:0:0", pieces=2)
    assert "\n" not in str(raised.value)
    with pytest.raises(ValueError, match="one of crf"):
        evr.video(clip, tmp_path / "out.mkv", encode={"crf": 20, "qp": 3}, pieces=2)
    assert os.listdir(tmp_path) == []


@ffmpeg
def test_the_example_of_the_document_runs(cluster, tmp_path):
    path = pathlib.Path(__file__).resolve().parents[1] / "examples" / "cluster.py"
    done = subprocess.run([sys.executable, path, cluster.address], capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"{len(ray.nodes())} nodes" and lines[1] == "frames as on one machine: True"
    assert lines[-2] == "12 queens: 14200 ways" and lines[-1].startswith("100 frames") and lines[-1].endswith("True")

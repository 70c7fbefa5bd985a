#!/usr/bin/env python3
"""Packs the raw results in a folder of runs and writes its summary.md: `bench/runs/pack.py bench/runs/DATE-MACHINE`.

Loose .json and .html files go into raw.tar.xz beside them, in the place of those of the same name. The summary has a
table of medians and ratios for each file in the archive. `tar xf raw.tar.xz` in the folder gives the raw files back.
"""

import io
import json
import statistics
import sys
import tarfile
from pathlib import Path

ARCHIVE = "raw.tar.xz"
# What follows it in a summary was written by this program.
BY = "By `bench/runs/pack.py`"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "peers"))

import compare  # noqa: E402


def read(archive):
    """Name -> bytes of what an archive holds."""
    if not archive.exists():
        return {}
    with tarfile.open(archive) as tar:
        return {m.name: tar.extractfile(m).read() for m in tar.getmembers()}


def write(archive, files):
    """The same files give the same archive: no times, no owners, names in order."""
    with tarfile.open(archive, "w:xz", format=tarfile.USTAR_FORMAT, preset=9) as tar:
        for name in sorted(files):
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            tar.addfile(entry, io.BytesIO(files[name]))


def number(value):
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if value == float("inf"):
        return "not in the stream"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if value >= 10000 else str(value)
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " --- |" * (len(head) - 1)]
    lines += ["| " + " | ".join(number(v) for v in row) + " |" for row in rows]
    return "\n".join(lines)


def plan(p):
    return f"{p['structure']}/{p['dispatch']}/{p['grain']} on {p['workers']}"


def chosen(options, results, everything):
    """Options of a command for what a run has, unless it has everything."""
    found = list(dict.fromkeys(results))
    return "" if len(found) >= everything else " ".join(f"{options} {value}" for value in found)


def grid(rows, columns, value):
    """A table from name -> row, one column for each name in `columns`."""
    return table(["", *columns], [[row, *(value(row, column) for column in columns)] for row in rows])


def peers(run):
    limit = f" --simd {run['simd_limit']}" if run["simd_limit"] else ""
    copies = ", ".join(f"{size} {number(ms)} ms" for size, ms in run["plain_copy_ms"].items())
    text = compare.table(run["cells"]) + "\n" + compare.table(run["cells"], "fastest_")
    return f"bench/peers/run.sh{limit} --rounds {run['rounds']}", f"{text}\nA plain copy of a plane: {copies}."


def ffmpeg(run):
    rows = [[r["letter"], r["graph"], r["ffmpeg_variant"], r["fps"]["ffmpeg"], r["fps"]["evener"], r["ratio"]]
            for r in run["results"]]
    head = ["", "graph", "ffmpeg's fastest", "ffmpeg, frames/s", "evener, frames/s", "evener / ffmpeg"]
    return "bench/peers/run.sh ffmpeg", f"Clip `{run['clip']}`, whole processes.\n\n" + table(head, rows)


def each_filter(run):
    """Milliseconds a frame of each filter by itself."""
    rows = []
    for r in run["results"]:
        own, peer = r["ms"]["evener"], r["ms"]["ffmpeg"]
        rows.append([f"`{r['graph']}`", f"`{r['chain']}`", peer["cpu"], own["cpu"], peer["cpu"] / own["cpu"],
                     peer["wall"], own["wall"], peer["wall"] / own["wall"]])
    head = ["evener", "ffmpeg", "ffmpeg, ms of processors", "evener", "ratio", "ffmpeg, ms by the clock", "evener", "ratio"]
    text = f"Clip `{run['clip']}`, {run['frames']} frames, whole processes, medians of {run['rounds']} rounds, for a frame.\n\n"
    return "bench/peers/filters.py", text + table(head, rows)


def dispatch(run):
    rows = [[r["name"], r["empty_job_ns"], r["pair_ns"], r["split_ns"], r["metg_ns"]] for r in run["rows"]]
    head = ["", "empty job, ns", "a batch of two, ns", "a batch split, ns", "task for half efficiency, ns"]
    return f"evener bench dispatch --rounds {run['rounds']}", table(head, rows)


def filters(run):
    """The fastest plan of each structure, as medians of frames."""
    results = run["results"]
    best = {}
    for r in results:
        key = (r["graph"], r["size"], r["workers"], r["affinity"] or "none")
        shape = "auto" if r["plan"] == "auto" else r["structure"]
        best.setdefault(key, {}).setdefault(shape, []).append(r["ms"]["median"])
    shapes = sorted({s for row in best.values() for s in row})
    rows = [[graph, size, workers, affinity, *(min(row[s]) if s in row else None for s in shapes)]
            for (graph, size, workers, affinity), row in best.items()]
    text = "Milliseconds a frame, median of the stream; of each structure the fastest dispatch flavour and grain.\n\n"
    plans = ",".join(dict.fromkeys("auto" if r["plan"] == "auto" else "all" for r in results))
    if len(shapes) == 1:
        plans = results[0]["plan"]
    places = ",".join(dict.fromkeys(r["affinity"] or "" for r in results))
    command = ["evener bench filters", chosen("--graph", (r["graph"] for r in results), 7), f"--plan {plans}",
               "--ops" if "ops" in run else "", f"--affinity {places}" if places else ""]
    return " ".join(command), text + table(["graph", "size", "workers", "affinity", *shapes], rows)


def whole_processes(command):
    def found(run):
        own = next(name for name in ("evener", "evener encrypt") if name in run["medians"])
        sizes = run.get("sizes", {})
        rows = [[name, s, s / run["medians"][own], sizes.get(name)] for name, s in sorted(run["medians"].items())]
        return command, table(["", "median, s", f"of `{own}`", "bytes out"], rows)
    return found


def crypt_age(run):
    tables = []
    for task, rounds in run["rounds"].items():
        rows = []
        for name in rounds[0]:
            middle = statistics.median(one[name] for one in rounds)
            ratio = statistics.median(one[name] / one["evener"] for one in rounds)
            cpu = statistics.median(one[name] for one in run["processors"][task])
            rows.append([name, middle, run["mib"] / middle, ratio, cpu])
        tables.append(f"{task}:\n\n" + table(["", "median, s", "MiB/s", "of evener, within a round", "processors, s"], rows))
    return "bench/peers/crypt/age.py", "\n\n".join(tables)


def serve(run):
    who = sorted({w for row in run["medians"].values() for w in row})
    text = {w: {} for w in who}
    for what, row in run["medians"].items():
        for w, figures in row.items():
            text[w][what] = ", ".join(f"{key} {number(value)}" for key, value in figures.items())
    return "bench/peers/block/serve.py disk.img", grid(
        run["medians"], who, lambda what, w: text[w].get(what, "")) + f"\n\n{run['unit'].capitalize()}."


def requests(run):
    rows = [[i["name"], i["codec"], l["workers"], statistics.median(l["rounds_us"]), l["gain"], l["gain_after_pause"]]
            for i in run["images"] for l in i["large"]]
    head = ["image", "codec", "workers", "request of eight blocks, µs", "gain", "gain after a pause"]
    return f"evener bench block disk.img.zst disk.img.evb --rounds {run['rounds']}", table(head, rows)


def crypt_kernels(run):
    rates = {}
    for round_ in run["rounds"]:
        for what, who, rate in round_:
            rates.setdefault((who, what), []).append(rate)
    who, what = sorted({w for w, _ in rates}), sorted({w for _, w in rates})
    middle = lambda w, x: statistics.median(rates[w, x]) if (w, x) in rates else None  # noqa: E731
    command = "bench/peers/crypt/speed.py" + (" --aes-ni" if run.get("aes_ni") else "")
    return command, f"{run['unit']}; {run['openssl']}.\n\n" + grid(who, what, middle)


def kernels(run):
    rows = [[k["kernel"], k["work"], v["name"], v["seconds"] * 1e6 if v["seconds"] else None,
             k["reason"] if v["name"] == k["taken"] else ""] for k in run for v in k["variants"]]
    return "evener topology --kernels --json", table(["kernel", "a run", "variant", "µs", "taken"], rows)


def crypt(run):
    best = {}
    for r in run["results"]:
        best.setdefault((r["body"], r["workers"], r["job"]), []).append((r["gb_per_s"], r["dispatch"], r["dispatcher"]))
    rows = [[body, workers, job, *max(found)] for (body, workers, job), found in best.items()]
    head = ["body", "workers", "job", "fastest, GB/s", "dispatch", "dispatcher"]
    return f"evener bench crypt --bytes {run['bytes'] >> 30}G --rounds {run['rounds']}", table(head, rows)


def product(run):
    single = {r["blocks"]: statistics.median(r["seconds"]) for r in run["results"]
              if r["workers"] == 1 and r["system"] == "single"}
    rows = [[r["system"], r["workers"], r["blocks"], r["unit"], statistics.median(r["seconds"]),
             single.get(r["blocks"], 0) / statistics.median(r["seconds"]),
             statistics.median(r["predicted_seconds"]) if r["predicted_seconds"] else None] for r in run["results"]]
    head = ["system", "workers", "blocks", "unit", "median, s", "times one worker", "predicted, s"]
    return f"evener bench product --rounds {run['rounds']}", table(head, rows)


def product_kernels(run):
    rows = [[r["cipher"], r["direction"], r["level"], r["ns"]] for r in run["results"]]
    return "bench/peers/crypt/run.sh", table(["cipher", "", "level", "median, ns a block"], rows)


def queens(run):
    classic = {r["n"]: r["cpu_s"] for r in run["results"] if r["program"] == "somers"}
    rows = [[r["n"], r["program"], r["cpu_s"], classic[r["n"]] / r["cpu_s"] if r["n"] in classic else None, r["nodes"]]
            for r in run["results"]]
    head = ["n", "program", "processor, s", "times the classic program", "nodes"]
    return f"bench/peers/queens/run.sh --rounds {run['rounds']}", table(head, rows)


def net(run):
    rows = []
    for figure in run["figures"]:
        first = figure["contestants"][0]["values"]
        for contestant in figure["contestants"]:
            values = contestant["values"]
            ratio = statistics.median(a / b for a, b in zip(first, values))
            rows.append([figure["name"], contestant["name"], statistics.median(values), figure["unit"], ratio])
    text = table(["", "contestant", "median", "unit", "first / this"], rows)
    for drawn in run["drawn"]:
        lines = [[line["name"], *line["values"]] for line in drawn["lines"]]
        text += f"\n\nFigure {drawn['number']}, {drawn['name']}, Gbit/s by bytes of the {drawn['over']}:\n\n"
        text += table(["", *map(str, drawn["sizes"])], lines)
    return f"evener bench net --rounds {run['rounds']} --seconds {run['seconds']:g}", text


def checkpoint(run):
    rows = [[name, *(statistics.median(r[key] for r in runs) for key in ("wall", "cpu"))]
            for name, runs in run["runs"].items()]
    return "bench/peers/queens/workers.py", table(["checkpoint", "wall, s", "processors, s"], rows)


def possible(run):
    rows = [[r["n"], r["simd"], *(statistics.median(r["seconds"][k]) for k in ("one", "two workers", "two processes")),
             r["gain"], r["possible"]] for r in run["results"]]
    head = ["n", "simd", "one worker, s", "two workers, s", "two processes, s", "gain", "possible"]
    return "bench/peers/queens/workers.py", table(head, rows)


def splits(run):
    def gains(result):
        return {f["workers"]: f["gain"] for f in result["foreseen"]}

    rows = [[r["n"], r["split"], len(r["job_seconds"]), *(statistics.median(x["seconds"]) for x in r["runs"]),
             *(gains(r).get(w) for w in (2, 64, 256))] for r in run["results"]]
    head = ["n", "split", "jobs", "one worker, s", "two, s", "predicted, 2", "64", "256 workers"]
    sizes = ",".join(str(n) for n in dict.fromkeys(r["n"] for r in run["results"]))
    ways = dict.fromkeys(r["split"] for r in run["results"])
    only = "" if len(ways) > 1 else f"--split {next(iter(ways))} "
    return f"evener bench queens --n {sizes} {only}--rounds {run['rounds']}", table(head, rows)


def analysis(run):
    middle = statistics.median
    names = {(False, False): "nothing", (True, False): "half-pel", (False, True): "search", (True, True): "both"}
    parts = [f"An empty job handed over takes {middle(run['empty_us']):.2f} µs."]
    # Earlier runs were replayed with the time of an empty job.
    if line := run.get("hand_over_us"):
        parts.append(f"A line of a wavefront that another waits for is handed over in {middle(line):.2f} µs.")
    for clip in run["clips"]:
        size = f"{clip['name']}, {clip['size']}"
        parts.append(f"{size}:\n\n" + table(["job", "sub-pel", "own µs", "handed over µs"], [
            [s["job"], s["subpel"] or "", middle(s["own_us"]), middle(s["handed_us"])] for s in clip["single"]]))
        alone = {r["subpel"]: r["seconds"] for r in clip["runs"] if r["workers"] == 1}
        parts.append(table(["sub-pel", "handed over", "job", "workers", "fps", "speed"], [
            [r["subpel"], names[r["half_pel"], r["search"] is not None], r["search"] or "", r["workers"],
             clip["pictures"] / middle(r["seconds"]),
             middle(a / b for a, b in zip(alone[r["subpel"]], r["seconds"]))] for r in clip["runs"]]))
        parts.append(table(["predicted on workers", "clip", "a picture alone"], [
            [p["workers"], p["gain"], p["alone"]] for p in clip["predicted"]]))
    clips = " ".join(f"--clip {clip['name']}" for clip in run["clips"])
    return f"evener bench encode {clips} --rounds {run['rounds']}", "\n\n".join(parts)


def predicted(run):
    """The predictions of a run of `evener bench encode` whose other figures are in another file."""
    parts = [f"A line of a wavefront that another waits for is handed over in {statistics.median(run['hand_over_us']):.2f} µs."]
    for clip in run["clips"]:
        parts.append(table(["predicted on workers", f"{clip['name']}, {clip['pictures'] + 1} pictures", "a picture alone"], [
            [p["workers"], p["gain"], p["alone"]] for p in clip["predicted"]]))
    frames = " ".join(f"--clip {clip['name']} --frames {clip['pictures']}" for clip in run["clips"])
    return f"evener bench encode {frames} --rounds {run['rounds']}", "\n\n".join(parts)


def encoders(run):
    rows = [[clip, name, found["bd_rate"], found["speed"]]
            for clip, each in run["clips"].items() for name, found in each["summary"].items()]
    command = f"bench/peers/encode/speed.py --clip {' '.join(run['clips'])} --preset {run['preset']}"
    peers = run.get("peers") or {}
    command += " --h264enc PROGRAM" if peers.get("openh264") is not None else ""
    command += " --rusty PROGRAM" if peers.get("rusty_h264") else ""
    more = f" -- {' '.join(run['more'])}" if run["more"] else ""
    tables = table(["clip", "encoder", "BD-rate %", "speed"], rows)
    beside = [[clip, name, found["evener"]["bd_rate"], found["evener"]["speed"]]
              for clip, each in run["clips"].items() for name, found in each["summary"].items() if "evener" in found]
    if beside:
        tables = tables.rstrip() + "\n\n" + table(["clip", "evener beside", "BD-rate %", "speed"], beside)
    return f"{command} --profile {run['profile']} --rounds {run['rounds']}{more}", tables


def tuner(run):
    parts, asked = [], []
    middle = lambda rounds, key: statistics.median(  # noqa: E731
        r[key] if r[key] is not None else float("inf") for r in rounds)
    if results := run.get("auto"):
        asked.append("auto")
        parts.append(table(["graph", "size", "frames", "auto / best fixed", "last quarter", "best fixed plan"], [
            [r["graph"], r["size"], r["frames"], r["whole"], r["last_quarter"], plan(r["best"])] for r in results]))
    if results := run.get("disturbance"):
        asked.append("disturbance")
        parts.append(table(
            ["graph", "size", "taken: epochs", "speed afterwards", "given back: epochs", "speed afterwards"],
            [[r["graph"], r["size"], *(middle(r[moment], key) for moment in ("taken", "given_back")
                                       for key in ("epochs", "speed_after_target"))] for r in results]))
    if results := run.get("bad_arm"):
        asked.append("bad-arm")
        parts.append(table(["graph", "size", "candidates", "slower by", "share of time lost"], [
            [r["graph"], r["size"], r["candidates"], r["times_the_best"], r["lost"]] for r in results]))
    if results := run.get("overhead"):
        asked.append("overhead")
        by = {}
        for r in results:
            by.setdefault((r["graph"], r["size"]), {})[r["plan"]["workers"]] = 100 * r["overhead"]
        workers = sorted({w for row in by.values() for w in row})
        parts.append("Beyond a loop written by hand, %:\n\n" + table(
            ["graph", "size", *(f"{w} worker{'s' * (w > 1)}" for w in workers)],
            [[*key, *(row.get(w) for w in workers)] for key, row in by.items()]))
    if results := run.get("memory"):
        asked.append("memory")
        parts.append(table(["graph", "size", "beyond the frames, MiB"], [
            [r["graph"], r["size"], r["beyond"] / 2**20] for r in results]))
    results = [r for part in ("auto", "disturbance", "bad_arm", "overhead", "memory") for r in run.get(part) or []]
    command = ["evener bench tuner", f"--part {','.join(asked)}"]
    if "auto" in asked or "overhead" in asked or "disturbance" in asked:
        command.append(chosen("--graph", (r["graph"] for r in results), 2 if "disturbance" in asked else 7))
        command.append(chosen("--size", (r["size"] for r in results), 2))
    return " ".join([*command, f"--rounds {run['rounds']}"]), "\n\n".join(parts)


# What a name of a file begins with, longest first where one begins another.
def python(run):
    """The package for Python beside the command and other libraries."""
    rows = []
    base = run["command"]["command"]["fps"]
    for name, row in run["command"].items():
        rows.append((f"1920x1080 gray, graph A: {name}", f"{row['fps']:.0f} fps", f"{100 * row['fps'] / base:.0f} %"))
    small = run["small"]
    rows.append(("64x64, a call in an open stream", f"{small['call_us']:.1f} us", ""))
    rows.append(("of that beyond the kernel", f"{small['beyond_us']:.1f} us", ""))
    rows.append(("1,000 frames: the process grows by", f"{run['memory']['grown_kib']} KiB", ""))
    # Runs before the graphs B to G have a row for each library.
    rows += [(f"evener beside {name}", f"{row['ratio']:.1f}x", "") for name, row in run["others"].items() if "ratio" in row]
    text = table(["what", "median", "against the command"], rows)
    graphs = {letter: row for letter, row in run["others"].items() if "graph" in row}
    if not graphs:
        return "python/bench/compare.py", text
    rows = []
    for letter, row in graphs.items():
        for name, other in row["others"].items():
            rows.append((letter, row["graph"], row["fps"], name, other["fps"], other["ratio"],
                         f"{100 * other['different']:.2f} %" if "different" in other else "", other["way"]))
    head = ["", "graph", "evener, frames/s", "beside", "frames/s", "ratio", "samples that differ", "in which way"]
    return "python/bench/compare.py", text + "\n\n1920x1080 gray, 30 frames a call:\n\n" + table(head, rows)


def cluster(run):
    """evener.ray: what a lost node costs, and videos on two tasks beside one process."""
    rows = [(f"frames on two nodes, one killed after {row['killed_after']} of {row['needed']} calls",
             "identical" if row["identical"] else "WRONG", f"{row['calls']} calls") for row in run.get("lost", [])]
    for what, row in run.get("segments", {}).items():
        rows.append((f"{what}, {row['frames']} frames: two tasks of a CPU", f"{row['two_fps']:.1f} fps", f"{row['ratio']:.2f}x"))
        rows.append((f"{what}: one process with two workers", f"{row['one_fps']:.1f} fps", "1"))
    command = f"python/bench/cluster.py --clip {run['clip']}" + ("" if "segments" in run else " --only lost")
    return command, table(["what", "result", "beside what is needed or one process"], rows)


def gateway(run):
    figures = run["figures"]
    names = list(dict.fromkeys(figure["row"] for figure in figures))
    contestants = {contestant["name"] for figure in figures for contestant in figure["contestants"]}
    peers = "".join(f" --peer {peer}=PATH" for peer in ["rtp2httpd", "go2rtc"] if peer in contestants)
    command = (f"evener bench gateway --only {','.join(names)} --rounds {run['rounds']} "
               f"--seconds {run['seconds']}{peers}")
    rows = []
    for figure in figures:
        for contestant in figure["contestants"]:
            middle = statistics.median(contestant["values"])
            rows.append([figure["row"], figure["name"], contestant["name"], f"{middle:.4g} {figure['unit']}"])
    parts = [table(["row", "figure", "contestant", "median"], rows)]
    for drawn in run["drawn"]:
        head = [f"{drawn['unit']} by {drawn['over']}", *(f"{at:g}" for at in drawn["at"])]
        parts.append(f"{drawn['title']}\n\n" + table(head, [[line["name"], *line["values"]] for line in drawn["lines"]]))
    return command, "\n\n".join(parts)


def short(run):
    """Short runs: auto beside the best plain plan and the peer, a table for each number of busy loops."""
    head = ["auto as a share of the best plain plan", "by processor time", "remembered", "peer / auto", "by processor time"]
    auto, remembered, plans = "auto", "auto, remembered", ("sequential", "tiled", "farm")
    tables = []
    for loops in dict.fromkeys(result["loops"] for result in run["results"]):
        rows = []
        for result in (r for r in run["results"] if r["loops"] == loops):
            rounds = result["rounds"]

            def ratio(above, below, what="wall"):
                return statistics.median(one[above][what] / one[below][what] for one in rounds if one[below][what])

            plain = [name for name in rounds[0] if name in plans]
            best = min(plain, key=lambda name: statistics.median(one[name]["wall"] for one in rounds))
            peer = next((name for name in rounds[0] if name not in (auto, remembered, *plans)), None)
            own = [ratio(best, auto), ratio(best, auto, "cpu"), ratio(best, remembered)]
            rows.append([result["task"], *own, *((ratio(peer, auto), ratio(peer, auto, "cpu")) if peer else ("", ""))])
        shares = [[row[i] for row in rows] for i in (1, 2, 3)]
        rows.append(["mean", *map(statistics.mean, shares), "", ""])
        rows.append(["least", *map(min, shares), "", ""])
        tables.append(f"Beside {loops} busy loops:\n\n" + table(["", *head], rows))
    return f"bench/peers/short.py --rounds {len(run['results'][0]['rounds'])}", "\n\n".join(tables)


def rayon_programs(run):
    """Programs on both engines: medians of seconds, and of ratios within a round."""
    rows = []
    for result in run["results"]:
        rounds = result["rounds"]

        def ratio(above, below, what):
            return statistics.median(one[above][what] / one[below][what] for one in rounds)

        middle = [statistics.median(one[name][what] for one in rounds)
                  for what in ("wall", "cpu") for name in ("rayon", "evener")]
        rows.append([f"{result['task']} ({result['version']})", *middle[:2], ratio("rayon", "evener", "wall"), *middle[2:],
                     ratio("evener", "rayon", "cpu")])
    head = ["", "rayon, s", "evener, s", "speed of evener", "rayon, processor s", "evener, processor s", "evener / rayon"]
    return f"bench/peers/rayon/programs.py --rounds {len(run['results'][0]['rounds'])}", table(head, rows)


def rayon_demo(run):
    """The benchmarks of rayon-demo: medians of nanoseconds, and of ratios within a round."""
    rows = []
    for result in run["results"]:
        rounds = result["rounds"]
        middle = [statistics.median(one[name] for one in rounds) for name in ("rayon", "evener")]
        rows.append([f"`{result['name']}`", *middle, statistics.median(one["rayon"] / one["evener"] for one in rounds)])
    speeds = sorted(row[3] for row in rows)
    text = f"\n\n{len(speeds)} benchmarks: median {statistics.median(speeds):.2f}, least {speeds[0]:.2f}."
    rounds = f"bench/peers/rayon/demo.py --rounds {len(run['results'][0]['rounds'])}"
    return rounds, table(["", "rayon, ns", "evener, ns", "speed of evener"], rows) + text


KINDS = [
    ("peers", peers), ("ffmpeg", ffmpeg), ("filters", each_filter), ("dispatch", dispatch), ("tuner-", tuner), ("auto", filters),
    ("plans", filters), ("placements", filters), ("block-pack", whole_processes("bench/peers/block/pack.py disk.img")),
    ("block-serve", serve), ("block-requests", requests),
    ("net", net), ("gateway", gateway), ("encode-peers", encoders), ("encode-predicted", predicted), ("encode", analysis),
    ("crypt-files-huge", whole_processes("bench/peers/crypt/files.py --dir DIR")),
    ("crypt-files", whole_processes("bench/peers/crypt/files.py")),
    ("crypt-age", crypt_age), ("crypt-kernels", crypt_kernels), ("kernels", kernels), ("crypt", crypt), ("product-kernels", product_kernels), ("product", product),
    ("python", python), ("cluster", cluster), ("queens-checkpoint", checkpoint), ("queens-possible", possible), ("queens-splits", splits),
    ("queens-workers", splits), ("queens", queens),
    ("short", short), ("rayon-programs", rayon_programs), ("rayon-demo", rayon_demo),
]


def machine(runs):
    """The line about the machine, from whichever files say most."""
    said = [run["machine"] for run in runs if "machine" in run]
    line = next((m for m in said if isinstance(m, str)), "")
    host = next((m for m in said if isinstance(m, dict)), None)
    if host:
        loads = [m["load_at_start"] for m in said if isinstance(m, dict) and "load_at_start" in m]
        own = host["identity"]
        line = (f"{host['cpu']}, family {own['cpu_family']}, model {own['model']}, {host['cpus']} CPUs of a virtual "
                f"machine, load {min(loads):.1f} to {max(loads):.1f} at the start of runs; {line}")
    return line.rstrip("; ")


def summary(name, files):
    runs = {file: json.loads(body) for file, body in sorted(files.items()) if file.endswith(".json")}
    pages = ", ".join(f"`{file}`" for file in sorted(files) if file.endswith(".html"))
    text = [f"# {name}\n", f"Machine: {machine(runs.values())}.\n",
            f"{BY} from the raw files in [{ARCHIVE}]({ARCHIVE})"
            + (f", which also has {pages}" if pages else "") + ".\n"]
    for file, run in runs.items():
        kind = next((found for prefix, found in KINDS if file.startswith(prefix)), None)
        if kind is None:
            sys.exit(f"{name}/{file}: no table is known for a file of this name")
        command, tables = kind(run)
        text.append(f"## {file}\n\n`{' '.join(command.split())}`\n\n{tables.strip()}\n")
    return "\n".join(text)


def main(folders):
    for folder in map(Path, folders):
        loose = [p for p in sorted(folder.iterdir()) if p.suffix in (".json", ".html")]
        files = read(folder / ARCHIVE) | {p.name: p.read_bytes() for p in loose}
        text = summary(folder.resolve().name, files)
        if loose:
            write(folder / ARCHIVE, files)
        # Sections that were written by hand stay, before those of raw files.
        kept = folder / "summary.md"
        head = kept.read_text().partition(BY)[0] if kept.exists() else ""
        if "\n## " in head:
            text = head.rstrip() + "\n\n" + text[text.index(BY):]
        kept.write_text(text)
        for path in loose:
            path.unlink()


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    main(sys.argv[1:])

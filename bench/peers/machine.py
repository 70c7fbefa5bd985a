"""What the raw files say about the machine a run was made on."""

import os
import platform
from pathlib import Path


def cpu_model():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def cpu_identity():
    """Vendor, family and model number: what tells microarchitectures with one name apart."""
    wanted = ("vendor_id", "cpu family", "model", "stepping")
    found = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() in wanted:
            found.setdefault(name.strip().replace(" ", "_"), value.strip())
    return found


def simd_level():
    """Highest x86 vector level, in evener's names."""
    text = Path("/proc/cpuinfo").read_text()
    for flag, level in (("avx512bw", "avx512"), ("avx2", "avx2"), ("sse2", "sse2")):
        if f" {flag} " in text:
            return level
    return "neon" if " asimd " in text else "scalar"


def describe():
    return {
        "cpu": cpu_model(),
        "identity": cpu_identity(),
        "cpus": len(os.sched_getaffinity(0)),
        "simd": simd_level(),
        "kernel": platform.release(),
        "load_at_start": os.getloadavg()[0],
    }

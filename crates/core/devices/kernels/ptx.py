#!/usr/bin/env python3
"""Compiles all kernel sources to PTX and packs it into ptx.xz, or with --check says whether that file has what the
sources give. Needs the wheel of requirements.txt, and no GPU."""

import argparse
import ctypes
import importlib.util
import lzma
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
CRATES = HERE.parents[2]
PACKED = HERE / "ptx.xz"
# Helpers are written without `__device__`, which only CUDA has.
OPTIONS = ["--gpu-architecture=compute_75", "--fmad=false", "--device-as-default-execution-space"]


def sources():
    return [HERE / "probe.c", *sorted(CRATES.glob("*/*/src/device/*.c"))]


def library():
    spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
    if spec is None:
        sys.exit(f"NVRTC is missing: pip install -r {HERE / 'requirements.txt'}")
    folder = pathlib.Path(list(spec.submodule_search_locations)[0]) / "lib"
    # It looks for this one by name, and not beside itself.
    for builtins in folder.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(folder / "libnvrtc.so.12"))


def text_of(nvrtc, program, size, get):
    length = ctypes.c_size_t()
    getattr(nvrtc, size)(program, ctypes.byref(length))
    text = ctypes.create_string_buffer(length.value)
    getattr(nvrtc, get)(program, text)
    return text.value.decode()


def compile(nvrtc, source):
    text = (HERE / "prelude.cu").read_text() + "#line 1\n" + source.read_text()
    program = ctypes.c_void_p()
    made = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), text.encode(), source.name.encode(), 0, None, None)
    if made != 0:
        sys.exit(f"{source}: NVRTC makes no program, error {made}")
    options = (ctypes.c_char_p * len(OPTIONS))(*[option.encode() for option in OPTIONS])
    if nvrtc.nvrtcCompileProgram(program, len(OPTIONS), options) != 0:
        sys.exit(text_of(nvrtc, program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog"))
    ptx = text_of(nvrtc, program, "nvrtcGetPTXSize", "nvrtcGetPTX")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    # Multiplications and additions that were not written as one must not become one.
    if "fma.rn.f32" in ptx and "FMA(" not in source.read_text():
        sys.exit(f"{source}: contracted")
    if ".f64" in ptx:
        sys.exit(f"{source}: computes with doubles; a constant may lack its f")
    # NVRTC defines constants of its headers, under names with a number of the source in them; no kernel uses them.
    lines = [line for line in ptx.splitlines() if "nv6target" not in line]
    return "\n".join(lines).strip("\n\0") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    nvrtc = library()
    found = sources()
    text = "".join(f"// program {source.stem}\n{compile(nvrtc, source)}" for source in found)
    if not PACKED.exists() or lzma.decompress(PACKED.read_bytes()).decode() != text:
        if arguments.check:
            command = f"{sys.executable} {os.path.relpath(__file__)}"
            sys.exit(f"{PACKED.name} is not what the kernel sources give; this command writes it:\n{command}")
        PACKED.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{len(found)} kernel sources, their PTX in {PACKED.name}")


if __name__ == "__main__":
    main()

#!/bin/sh
# Peer benchmark of the filter graphs: makes its own virtual environment, builds evener, measures.
# Arguments go to run.py; `run.sh check …` and `run.sh ffmpeg …` run the other two programs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=$here/.venv

if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
    python3 -m venv --clear "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$venv/requirements.txt"
fi

program=run.py
case ${1:-} in
    check|ffmpeg) program=$1.py; shift ;;
esac

export HL_NUM_THREADS=2
# OpenCV reads this when it is loaded; a level switched off there cannot be switched off later.
case " $* " in
    *" --simd avx2 "*|*" --simd=avx2 "*) export OPENCV_CPU_DISABLE=AVX512-SKX ;;
esac
exec "$venv/bin/python" "$here/$program" "$@"

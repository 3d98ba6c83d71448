#!/usr/bin/env python3
"""What `tutti trace --gpu` predicts of a training loop's repair, and what the repair takes, on a GPU.
usage: confirm_prediction.py COMMAND [STEPS]   TORCH_PYTHON: a python3 with PyTorch, if not this one. KEEP_TRACES_IN: a folder."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMMAND = os.path.abspath(sys.argv[1])
STEPS = sys.argv[2] if len(sys.argv) > 2 else "100"
PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)
PROGRAM = pathlib.Path(__file__).resolve().parent / "victims/torch_language_model.py"
UNITS = {"ns": 1e-3, "us": 1, "ms": 1e3, "s": 1e6}


def traced(folder, *words):
    done = subprocess.run([COMMAND, "trace", "--gpu", "-o", folder, "--", PYTHON, PROGRAM, STEPS, *words], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{PROGRAM.name} {' '.join(words)}: {done.stderr[-3000:]}")
    print(folder.name + ":", done.stdout.strip())
    return json.loads((folder / "report.json").read_text()), done.stderr


def microseconds(words):
    number, unit = words.split()
    return float(number) * UNITS[unit]


def main(folder):
    before, text = traced(folder / "before")
    print(text)
    after, _ = traced(folder / "after", "repaired")
    told = subprocess.run([COMMAND, "trace", "--compare", folder / "before", folder / "after"], text=True, capture_output=True, check=True).stdout
    print(told)
    times = r"([\d.]+ [mun]?s)"
    line = " ".join(told.split("change")[0].split())
    took, takes, predicted = (
        microseconds(each) for each in re.search(rf"took {times} .* takes {times} .*predicted was {times}", line).groups()
    )
    steps = before["steps"]["count"]
    print(f"simulated with all waits: {before['gpu']['simulated_ns'] / steps / 1e3:.1f} us a step, in fact {before['gpu']['time_ns'] / steps / 1e3:.1f}")
    print(f"GPU busy before: {before['gpu']['busy_ns'] / steps / 1e3:.1f} us a step"
          + (f", after: {after['gpu']['busy_ns'] / after['steps']['count'] / 1e3:.1f}" if after["gpu"] and after["steps"] else ""))  # fmt: skip
    print(f"a step: {took:.0f} us before, {predicted:.0f} predicted, {takes:.0f} after")
    ratio = (took - predicted) / (took - takes) if took > takes else float("inf")
    print(f"gain: {took - predicted:.0f} us predicted, {took - takes:.0f} in fact: ratio {ratio:.2f}")
    return 0 if 0.8 <= ratio <= 1.2 else 1


if __name__ == "__main__":
    keep = os.environ.get("KEEP_TRACES_IN")
    if keep:
        place = pathlib.Path(keep) / "prediction"
        place.mkdir(parents=True, exist_ok=True)
        sys.exit(main(place))
    with tempfile.TemporaryDirectory() as made:
        sys.exit(main(pathlib.Path(made)))

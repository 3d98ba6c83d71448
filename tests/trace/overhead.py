#!/usr/bin/env python3
"""What `tutti trace` adds to a step of programs, on a GPU: pairs of runs in turn, bare and traced, and the ratio of their medians and
of their quickest. usage: overhead.py COMMAND [PAIRS] [STEPS]   TORCH_PYTHON: a python3 with PyTorch, if not this one."""

import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

COMMAND = os.path.abspath(sys.argv[1])
PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 6
STEPS = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
PYTHON = os.environ.get("TORCH_PYTHON", sys.executable)
VICTIMS = pathlib.Path(__file__).resolve().parent / "victims"
# name: program, arguments, divisor of the steps
PROGRAMS = {
    "training, seven waits a step": ("torch_training.py", [], 1),
    "training, no wait in a step": ("torch_training.py", ["repaired"], 1),
    "language model, seven waits a step": ("torch_language_model.py", [], 20),
}


def step(command, words):
    done = subprocess.run(command + words, text=True, capture_output=True)
    found = re.search(r"([\d.]+) (us|ms) each", done.stdout)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stdout[-500:]} {done.stderr[-2000:]}")
    return float(found[1]) * (1000 if found[2] == "ms" else 1)


def main():
    for name, (program, arguments, divisor) in PROGRAMS.items():
        words = [PYTHON, str(VICTIMS / program), str(STEPS // divisor), *arguments]
        bare, traced = [], []
        with tempfile.TemporaryDirectory() as folder:
            for pair in range(PAIRS):
                sides = [(bare, []), (traced, [COMMAND, "trace", "-o", f"{folder}/{pair}", "--"])]
                for times, command in sides if pair % 2 == 0 else sides[::-1]:
                    times.append(step(command, words))
        print(f"{name}, us a step: bare {', '.join(f'{each:.0f}' for each in bare)}; traced {', '.join(f'{each:.0f}' for each in traced)}")
        print(f"  ratio of the medians {statistics.median(traced) / statistics.median(bare):.3f}, of the quickest {min(traced) / min(bare):.3f}")


main()

#!/usr/bin/env python3
"""Instructions of a loop of small ops with the ledger, and with the ledger compiled out. usage: ledger_cost.py BUILD [--json FILE] [--quick]

BUILD has the loop twice, linked with either library. valgrind counts; what starting and ending costs is counted apart and taken
away, so the figures are instructions of an iteration. A simulated GPU is stepped: one
thread does all, and no instruction is spent on looking for work.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ITERATIONS = 1000
MOST = 1.01  # with the ledger by without
# (what, device, a value is read every so many iterations, whether the target is meant)
LOOPS = (
    ("matmul, relu, sum on a CPU", "CPU:0", 100, True),
    ("matmul, relu, sum on a simulated GPU", "GPU:0", 100, True),
    ("the same, the sum read in every iteration, CPU", "CPU:0", 1, False),
    ("the same, the sum read in every iteration, GPU", "GPU:0", 1, False),
)


def instructions(program, device, iterations, read_every):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")} | {"TUTTI_SIM_DRIVER": "stepped"}
    with tempfile.TemporaryDirectory() as folder:
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, device, str(iterations), str(read_every)]
        done = subprocess.run(words, env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return int(re.search(r"Collected : (\d+)", done.stderr).group(1))


def per_iteration(program, device, read_every, iterations):
    none, some = (instructions(program, device, count, read_every) for count in (0, iterations))
    return (some - none) / iterations


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="one loop, few iterations: shows that it works")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("ledger_cost: valgrind is not there (Debian: valgrind)")
    with_ledger, without = options.build / "bin/ledger_loop", options.build / "bin/ledger_loop_without"
    rows = []
    print(f"{'instructions an iteration':<50} {'ledger':>10} {'without':>10} {'ratio':>7}  target")
    iterations = 20 if options.quick else ITERATIONS
    for what, device, read_every, has_target in LOOPS[1:2] if options.quick else LOOPS:
        ours, bare = (per_iteration(program, device, read_every, iterations) for program in (with_ledger, without))
        ratio = ours / bare
        verdict = "" if not has_target else f"<= {MOST} {'met' if ratio <= MOST else 'NOT MET'}"
        print(f"{what:<50} {ours:>10.0f} {bare:>10.0f} {ratio:>7.4f}  {verdict}")
        rows.append({"what": what, "ledger": ours, "without": bare, "ratio": ratio, "target": MOST if has_target else None})
    if options.json:
        options.json.write_text(json.dumps({"name": "ledger_cost", "rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

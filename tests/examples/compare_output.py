#!/usr/bin/env python3
"""Runs a program and compares what it prints with EXPECTED.out and EXPECTED.err (no file: nothing).
usage: compare_output.py PROGRAM EXPECTED|any [NAME=VALUE ...] [-- ARGUMENT ...]
Lines of ranks come in any order: they are compared rank by rank. With 'any' only the exit status counts.
TUTTI_ACCEPT_OUTPUT=1 writes the files instead of comparing."""

import difflib
import os
import pathlib
import subprocess
import sys

program, expected, *settings = sys.argv[1:]
arguments = []
if "--" in settings:
    mark = settings.index("--")
    settings, arguments = settings[:mark], settings[mark + 1 :]
# The caller's settings must not change the output.
ours = ("TUTTI_", "CUDA_VISIBLE_DEVICES", "TF_FORCE_GPU_ALLOW_GROWTH")
environment = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
environment.update(setting.split("=", 1) for setting in settings)

done = subprocess.run([program, *arguments], env=environment, text=True, capture_output=True, timeout=110)
if done.returncode != 0:
    sys.exit(f"{program} ended with {done.returncode}:\n{done.stdout}{done.stderr}")

differences = []
for ending, printed in (("out", done.stdout), ("err", done.stderr)) if expected != "any" else ():
    path = pathlib.Path(f"{expected}.{ending}")
    if arguments[:1] == ["launch"]:
        printed = "".join(sorted(printed.splitlines(True), key=lambda line: line.split("]")[0]))
    if os.environ.get("TUTTI_ACCEPT_OUTPUT") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(printed) if printed else path.unlink(missing_ok=True)
        continue
    wanted = path.read_text() if path.exists() else ""
    differences += difflib.unified_diff(wanted.splitlines(True), printed.splitlines(True), str(path), f"what {program} printed")
print("".join(differences))
sys.exit(1 if differences else 0)

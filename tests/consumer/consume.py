#!/usr/bin/env python3
"""Builds a program of a user's against an installed tutti, runs it, and compares what it prints.
usage: consume.py PREFIX SCRATCH COMPILER"""

import os
import pathlib
import shutil
import subprocess
import sys

prefix, scratch, compiler = sys.argv[1:]
source = pathlib.Path(__file__).parent
# Only the installed copy may be found: neither the build's library nor the caller's settings.
environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH" and not k.startswith("TUTTI_")}


def run(*command):
    done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout}")
    return done.stdout


shutil.rmtree(scratch, ignore_errors=True)
run("cmake", "-S", str(source), "-B", scratch, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}")
run("cmake", "--build", scratch)
printed = run(f"{scratch}/consumer")
expected = (source / "expected_output.txt").read_text()
if printed != expected:
    sys.exit(f"expected:\n{expected}printed:\n{printed}")

# The installed command finds the installed library, wherever the prefix is.
run(f"{prefix}/bin/tutti", "--help")

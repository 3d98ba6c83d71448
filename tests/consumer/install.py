#!/usr/bin/env python3
"""Installs a finished build into a fresh prefix. usage: install.py BUILD PREFIX"""

import pathlib
import shutil
import subprocess
import sys

build, prefix = sys.argv[1:]
shutil.rmtree(prefix, ignore_errors=True)
subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)

installed = [str(path.relative_to(prefix)) for path in pathlib.Path(prefix).rglob("*")]
for expected in ("include/tutti/base/error.h", "tuttiConfig.cmake", "tuttiConfigVersion.cmake", "tuttiTargets.cmake", "libtutti.so", "bin/tutti"):
    if not any(path.endswith(expected) for path in installed):
        sys.exit(f"{expected} was not installed")
for path in installed:
    if path.startswith("include/tutti/kernels") or path.startswith("include/tutti/backends"):
        sys.exit(f"{path} is no public header, yet it was installed")

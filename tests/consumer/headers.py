#!/usr/bin/env python3
"""Every installed header compiles on its own, with warnings as errors. usage: headers.py PREFIX COMPILER"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

prefix, compiler = sys.argv[1:]
include = pathlib.Path(prefix) / "include"
headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))


def complaint(header):
    # -I, not -isystem: warnings inside the headers count.
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{include}", "-x", "c++", "-"]
    done = subprocess.run(command, input=f"#include <{header}>\n", text=True, capture_output=True)
    return f"{header}:\n{done.stderr}" if done.returncode != 0 else ""


if not headers:
    sys.exit(f"no header in {include}")
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    complaints = [text for text in pool.map(complaint, headers) if text]
print("\n".join(complaints) or f"{len(headers)} headers compile on their own")
sys.exit(1 if complaints else 0)

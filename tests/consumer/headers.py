#!/usr/bin/env python3
"""Every installed header compiles on its own, with warnings as errors. usage: headers.py PREFIX SOURCES COMPILER

A header that is the first include of its own source file has been compiled so with the library.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

prefix, sources, compiler = sys.argv[1:]
include = pathlib.Path(prefix) / "include"
headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))


def is_first_of_its_source(header):
    source = (pathlib.Path(sources) / header).with_suffix(".cc")
    if not source.exists():
        return False
    first = next((line for line in source.read_text().splitlines() if line.startswith("#")), "")
    return first == f'#include "{header}"'


def complaint(header):
    # -I, not -isystem: warnings inside the headers count.
    command = [compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{include}", "-x", "c++", "-"]
    done = subprocess.run(command, input=f"#include <{header}>\n", text=True, capture_output=True)
    return f"{header}:\n{done.stderr}" if done.returncode != 0 else ""


others = [header for header in headers if not is_first_of_its_source(header)]
if not others:
    sys.exit(f"no header in {include}, or none that needs to be compiled")
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    complaints = [text for text in pool.map(complaint, others) if text]
print("\n".join(complaints) or f"{len(others)} headers compile on their own; {len(headers) - len(others)} did with their sources")
sys.exit(1 if complaints else 0)

#!/usr/bin/env python3
"""Calls as other libraries take them are refused with the call to write. usage: refused_calls.py COMPILER INCLUDE_DIR

Every line of refused_calls.cc with a comment is a call; the first error about it, without "static assertion failed", must begin so.
"""

import pathlib
import re
import subprocess
import sys

compiler, include = sys.argv[1:]
source = pathlib.Path(__file__).with_suffix(".cc")
calls = {n: match[1] for n, line in enumerate(source.read_text().splitlines(), 1) if (match := re.match(r"  \S.*;\s+// (.*)", line))}

version = subprocess.run([compiler, "--version"], text=True, capture_output=True).stdout
command = [compiler, "-std=c++20", "-fsyntax-only", *(["-ferror-limit=0"] if "clang" in version else []), f"-I{include}", str(source)]
lines = subprocess.run(command, text=True, capture_output=True).stderr.splitlines()

# gcc names the call before the error, as "required from here", clang behind it, as a note.
here = re.compile(rf".*{source.name}:(\d+):\d+:")
first = {}
called_from = None
for i, line in enumerate(lines):
    if (match := here.match(line)) and "required from" in line:
        called_from = int(match[1])
    if " error: " not in line:
        continue
    if match := here.match(line):
        called_from = int(match[1])
    elif called_from is None:
        called_from = next((int(match[1]) for note in lines[i + 1 :] if (match := here.match(note))), None)
    first.setdefault(called_from, line.split(" error: ")[1])
    called_from = None

assertion = re.compile(r"static(?: assertion|_assert) failed(?: due to requirement '.*?')?:? ?\"?")
complaints = [f"{source.name}:{n}: should begin: {text}\n  and is: {first.get(n, 'no error')}"
              for n, text in calls.items() if not assertion.sub("", first.get(n, "")).startswith(text)]
complaints += [f"another error, at line {n}: {text}" for n, text in first.items() if n not in calls]
print("\n".join(complaints) or f"{len(calls)} calls are refused with the call to write")
sys.exit(1 if complaints or not calls else 0)

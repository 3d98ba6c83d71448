#!/usr/bin/env python3
"""The variables that the source and the Makefile read, those that it knows, and those that README.md tells of are the same."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
KNOWN = ROOT / "src/tutti/base/known_variables.h"

known = set(re.findall(r'"(TUTTI_\w+)",', KNOWN.read_text()))
read = {
    name
    for path in (ROOT / "src").rglob("*")
    if path.suffix in (".h", ".cc") and path.stem != KNOWN.stem
    for name in re.findall(r'"(TUTTI_[A-Z0-9_]*[A-Z0-9])(?==?")', path.read_text())
}
read |= set(re.findall(r"\$\((TUTTI_[A-Z0-9_]+)\)", (ROOT / "Makefile").read_text()))
section = (ROOT / "README.md").read_text().partition("\n## Environment\n")[2].partition("\n## ")[0]
told = {name for row in section.splitlines() for name in re.findall(r"`(TUTTI_\w+)=", row.split(" | ")[0])}

faults = [f"{name} is read and not in {KNOWN.name}" for name in sorted(read - known)]
faults += [f"{name} is in {KNOWN.name} and read nowhere" for name in sorted(known - read)]
faults += [f"{name} is in {KNOWN.name} and not in README.md" for name in sorted(known - told)]
faults += [f"{name} is in README.md and not in {KNOWN.name}" for name in sorted(told - known)]
print("\n".join(faults) or f"{len(known)} variables, all told")
sys.exit(1 if faults or not known else 0)

#!/usr/bin/env python3
"""docs/sync-free.md has a row for every Intent, in the order of the source, with a class that exists."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

source = (ROOT / "src/tutti/hal/sync_reason.h").read_text().partition("enum class Intent")[2].partition("};")[0]
intents = re.findall(r"^  (\w+),", source, re.M)
classes = set(re.findall(r'case SyncClass::\w+: return "([^"]+)"', (ROOT / "src/tutti/diag/sync_class.cc").read_text()))

table = (ROOT / "docs/sync-free.md").read_text().partition("| `Intent` |")[2].partition("\n\n")[0]
rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
faults = []
if [row[0].strip("`") for row in rows] != intents:
    faults.append(f"the table has {[row[0] for row in rows]}, the source {intents}")
for row in rows:
    faults += [f"{row[0]}: there is no class {name}" for name in re.findall(r"`([^`]+)`", row[2]) if name not in classes]
print("\n".join(faults) or f"{len(intents)} intents, all told")
sys.exit(1 if faults or not intents else 0)

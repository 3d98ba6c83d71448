#!/usr/bin/env python3
"""docs/sync-report.md names every field of the JSON, and no other. usage: sync_report_page_test.py COMMAND PROGRAM"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COMMAND, PROGRAM = map(os.path.abspath, sys.argv[1:])
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/sync-report.md"


def fields(value, found):
    if isinstance(value, dict):
        for key, inner in value.items():
            found.add(key)
            fields(inner, found)
    elif isinstance(value, list):
        for inner in value:
            fields(inner, found)
    return found


with tempfile.TemporaryDirectory() as folder:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")} | {
        "TUTTI_SIM_GPUS": "1",
        "TUTTI_TRACE": "trace.json",
        "TUTTI_SYNC_STACKS": "1",
    }
    command = [COMMAND, "run", "--sync-report", "json", "--output", "report.json", "--", PROGRAM, "2"]
    subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True, timeout=60)
    there = fields(json.loads((pathlib.Path(folder) / "report.json").read_text()), set())

told = set(re.findall(r"`([a-z_]+)(?:\[\])?`", PAGE.read_text().partition("## JSON")[2]))
faults = [f"{name} is in the JSON and not on the page" for name in sorted(there - told)]
faults += [f"{name} is on the page and not in the JSON" for name in sorted(told - there)]
print("\n".join(faults) or f"{len(there)} fields, all told")
sys.exit(1 if faults else 0)

#!/usr/bin/env python3
"""docs/mesh.md shows what the examples really print. usage: mesh_page_test.py [COMMAND WHO_IS_MISSING]"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
page = (ROOT / "docs/mesh.md").read_text()
shown = re.findall(r"<!-- what examples/(\w+)\.cc prints -->\n```text\n(.*?)```", page, re.DOTALL)
faults = [f"the output of examples/{name}.cc is not tests/examples/expected/{name}.out"
          for name, text in shown if text != (ROOT / f"tests/examples/expected/{name}.out").read_text()]
if not shown:
    faults.append("docs/mesh.md shows no output")


def told(report):
    """Hosts, pids, times and where lines are broken are others every time; how far the others were at a death, too."""
    words = " ".join(report.partition("came, not drained:")[0].split())
    for pattern, instead in (
        (r" \[at [^]]*\]", ""),
        (r"[\w./]*/who_is_missing", "who_is_missing"),
        (r"\(\S+, pid \d+\)", "(HOST, pid N)"),
        (r"\b\d+(\.\d+)? m?s\b", "TIME"),
        (r"\d of 3 came, and", "N of 3 came, and"),
    ):
        words = re.sub(pattern, instead, words)
    return re.sub(r" rank \d \(HOST, pid N\): not arrived.*?(?= rank \d|$)", "", words) if "is lost" in words else words


def printed(how):
    command, program = sys.argv[1:]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")}
    words = [command, "launch", "--keep-going", "-n", "3", "--", program, how]
    done = subprocess.run(words, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    return "\n".join(line[4:] for line in done.stdout.splitlines() if line.startswith("[0] "))


if len(sys.argv) > 1:
    reports = re.findall(r"<!-- what who_is_missing (\w+) prints -->\n```text\n(.*?)```", page, re.DOTALL)
    if len(reports) != 4:
        faults.append("docs/mesh.md shows fewer reports than it did")
    for how, report in reports:
        if told(report) != told(output := printed(how)):
            faults.append(f"who_is_missing {how} prints\n{output}\nand the page shows\n{report}")
sys.exit("\n".join(faults) or 0)

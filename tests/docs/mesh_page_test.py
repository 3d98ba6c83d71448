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


def literals(source):
    for parts in re.findall(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', source):
        yield " ".join("".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', parts)).replace("\\n", " ").split())


# What needs a network, or thousands of ranks: a test requires some of the same words.
required = re.findall(r"<!-- as (\S+) requires -->\n```text\n(.*?)```", page, re.DOTALL)
if len(required) != 3:
    faults.append("docs/mesh.md shows fewer of the words that tests require than it did")
for test, sample in required:
    words = " ".join(sample.split())
    if not any(len(part) >= 40 and part in words for part in literals((ROOT / test).read_text())):
        faults.append(f"{test} requires nothing of\n{sample}")


def told(report):
    """Its first line, and what it says of rank 1, the odd one. The rest (hosts, pids, times, how far the others were) is another every time."""
    words = " ".join(report.split())
    for pattern, instead in (
        (r" \[at [^]]*\]", ""),
        (r"[\w./]*/who_is_missing.cc:\d+", "who_is_missing.cc"),
        (r"\(\S+, pid \d+\)", "(HOST, pid N)"),
        (r"\b\d+(\.\d+)? m?s\b", "TIME"),
        (r"\d of 3 came", "N of 3 came"),
    ):
        words = re.sub(pattern, instead, words)
    if "different things" in words:  # whoever of the others it disagreed with
        return sorted(re.findall(r"ranks? [\d, -]+: (barrier \S+ at \S+)", words))
    first_line = re.match(r".*?:(?= rank)", words)
    odd_one = re.search(r"rank 1 \(HOST, pid N\): .*?(?= rank \d| came, not| all came|$)", words)
    return first_line and first_line[0], odd_one and odd_one[0], "all came to 'save'" in words


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

#!/usr/bin/env python3
"""What docs/launch.md shows under a command is what the command prints. usage: launch_page_test.py COMMAND"""

import os
import pathlib
import re
import subprocess
import sys

command = pathlib.Path(sys.argv[1])
page = (pathlib.Path(__file__).parents[2] / "docs/launch.md").read_text()


def told(lines):
    """Ranks come in any order; pids and times are other ones every time."""
    plain = re.sub(r"\(pid \d+\)", "(pid N)", re.sub(r"\d+(\.\d+)? m?s;", "TIME;", lines))
    return sorted(plain.splitlines(), key=lambda line: line.split("]")[0])


environment = {k: v for k, v in os.environ.items() if not k.startswith("TUTTI_")}
environment["PATH"] = f"{command.parent}:{environment['PATH']}"
shown = re.findall(r"```sh\n(tutti launch [^\n]*)\n```\n```text\n(.*?)```", page, re.DOTALL)
if len(shown) < 3:
    sys.exit("the page shows fewer commands with their output than it did")
faults = []
for words, output in shown:
    done = subprocess.run(
        ["sh", "-c", words], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60
    )
    if told(done.stdout) != told(output):
        faults.append(f"{words}\nprints\n{done.stdout}and the page shows\n{output}")
print("\n".join(faults) or "The page holds.")
sys.exit(1 if faults else 0)

#!/usr/bin/env python3
"""The README's first program is examples/first_program.cc, its output is the tested one, and its links lead
somewhere. usage: readme.py ROOT"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
readme = (root / "README.md").read_text()
faults = []


def block_after(start, language):
    match = re.compile(rf"```{language}\n(.*?)```", re.DOTALL).search(readme, start)
    return (match.group(1), match.end()) if match else ("", start)


program, end = block_after(0, "cpp")
if program != (root / "examples/first_program.cc").read_text():
    faults.append("the first C++ block is not examples/first_program.cc")
_, end = block_after(end, "cmake")
printed, _ = block_after(end, "text")
if printed != (root / "tests/examples/expected/first_program.out").read_text():
    faults.append("the text block after it is not what the program prints (tests/examples/expected/first_program.out)")

for link in re.findall(r"\]\(([^)#]+)\)", readme):
    if not link.startswith("http") and not (root / link).exists():
        faults.append(f"there is no {link}")
for name in re.findall(r"`((?:examples|src|tests|docs|cmake|fuzz|benchmarks)/[\w/.-]*)`", readme):
    if not (root / name).exists():
        faults.append(f"there is no {name}")

print("\n".join(faults) or "The README holds.")
sys.exit(1 if faults else 0)

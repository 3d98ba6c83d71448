#!/usr/bin/env python3
"""docs/mesh.md shows what the example really prints. usage: mesh_page_test.py"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
page = (ROOT / "docs/mesh.md").read_text()
shown = re.findall(r"<!-- what examples/(\w+)\.cc prints -->\n```text\n(.*?)```", page, re.DOTALL)
faults = [f"the output of examples/{name}.cc is not tests/examples/expected/{name}.out"
          for name, text in shown if text != (ROOT / f"tests/examples/expected/{name}.out").read_text()]
if not shown:
    faults.append("docs/mesh.md shows no output")
sys.exit("\n".join(faults) or 0)

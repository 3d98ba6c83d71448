#!/usr/bin/env python3
"""The scripts of the matrix of ops, which otherwise run only beside a GPU or for minutes. usage: matrix_test.py"""

import json
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "benchmarks/matrix"), str(ROOT / "benchmarks/gpu")]

import matrix_table
import ops_matrix

ENTRY = re.compile(r'^(?:PASS|WORK|DRAW|NET)\("([^"]+)", (\w+), (\w+|\(\{.*?\}\)), (.*)\)$', re.M)


def arguments(text):
    """Split at commas outside brackets and quotes."""
    parts, depth, start, is_quoted = [], 0, 0, False
    for i, letter in enumerate(text):
        is_quoted ^= letter == '"'
        depth += (letter in "({[") - (letter in ")}]")
        if letter == "," and depth == 0 and not is_quoted:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()]


def cell(op, ratio, size=1 << 20, layout="contiguous", dtype="float32", **more):
    return {"op": op, "dtype": dtype, "layout": layout, "size": size, "is_pass": True, "bytes": 1e6, "ours_us": 100.0,
            "theirs_us": 100.0 * ratio, "ratio": ratio} | more


class Entries(unittest.TestCase):
    found = ENTRY.findall((ROOT / "benchmarks/matrix/entries.inc").read_text())

    def test_every_line_is_an_entry_with_a_name_of_its_own(self):
        lines = [line for line in (ROOT / "benchmarks/matrix/entries.inc").read_text().splitlines() if line.startswith(("PASS", "WORK", "DRAW", "NET"))]
        self.assertEqual(len(lines), len(self.found))
        self.assertEqual(len({name for name, *_ in self.found}), len(self.found))

    def test_libtorchs_side_reads_as_python(self):
        for name, _, _, sides in self.found:
            ours, theirs = arguments(sides)
            text = ops_matrix.to_python(theirs)
            compile(text, name, "eval")
            self.assertNotIn("::", text)
            self.assertNotIn("at::", ours, name)

    def test_translation(self):
        for cpp, python in (
            ("at::sum(x, {1})", "torch.sum(x, (1,))"),
            ("std::get<0>(at::sort(x, -1))", "(torch.sort(x, -1))[0]"),
            ("x.to(at::kBFloat16)", "x.to(torch.bfloat16)"),
            ("at::linalg_inv(x)", "torch.linalg.inv(x)"),
            ("at::gelu(x)", "F.gelu(x)"),
            ("at::conv2d(x, y, c10::nullopt, 2, 1)", "torch.conv2d(x, y, None, 2, 1)"),
            ("at::rand(x.sizes())", "torch.rand(x.shape, **LIKE)"),
        ):
            self.assertEqual(ops_matrix.to_python(cpp), python)

    def test_both_sides_know_the_operands(self):
        script = (ROOT / "benchmarks/gpu/ops_matrix.py").read_text()
        names = re.search(r"enum class Operands.*?\{(.*?)\};", (ROOT / "benchmarks/matrix/matrix.h").read_text(), re.S)[1]
        known = set(re.findall(r"^\s*(\w+),", names, re.M))
        self.assertTrue({operands for _, _, operands, _ in self.found if operands[0] != "("} <= known)
        self.assertEqual(known, set(re.findall(r'case "(\w+)":', script)))


class Table(unittest.TestCase):
    data = {
        "device": "CPU",
        "peer": "libtorch",
        "threads": 2,
        "cells": [cell("exp", 2.0, 1 << 10), cell("exp", 0.7), cell("sin", 0.4, layout="transposed"), cell("sin", 1.5)],
        "wrong": ["tan: element 3"],
        "absent": ["cos"],
        "skipped": 3,
    }

    def test_shows_medians_and_lists_every_low_cell(self):
        page = matrix_table.report(self.data)
        self.assertIn("| 1 Ki | 1 | **2.00** | 2.00 |  | 2.00 | >= 1.2 | met |", page)
        self.assertIn("| 1 Mi | 3 | **0.70** | 1.10 | 0.40 | 0.40 | >= 1.0 | **not met** |", page)
        under_half = page.index("Under 0.5: 1 of 4")
        self.assertLess(under_half, page.index("| sin, f32, transposed, 1 Mi | 0.40 | 100 us | 40.0 us |"))
        self.assertLess(page.index("From 0.5 to 0.8: 1 of 4"), page.index("| exp, f32, contiguous, 1 Mi | 0.70 |"))
        self.assertIn("| exp | f32 | 2.00 |  | **0.70** |  |", page)
        for text in ("tan: element 3", "not there: cos.", "3 cells were left out"):
            self.assertIn(text, page)

    def test_shows_the_share_of_a_copys_rate(self):
        cells = [cell("add", 1.0, 1 << 26, bytes=3e8, ours_us=100.0, copy_us=75.0), cell("exp", 1.0, 1 << 26, bytes=4e8, ours_us=100.0)]
        cells.append(cell("sum", 1.0, 1 << 26, layout="transposed", bytes=3e7, ours_us=100.0))  # less than a launch is worth
        page = matrix_table.report({"device": "GPU", "peer": "PyTorch", "cells": cells, "copy_rate": 4.0})
        self.assertIn("(4.00 TB/s): median 0.88 of 2 cells; 1 under 0.85", page)
        self.assertIn("| add, f32, contiguous, 64 Mi | 0.75 | 3.00 | 100 us | 75.0 us |", page)
        self.assertNotIn("| sum, f32, transposed, 64 Mi | 0.07", page)

    def test_our_side_alone_is_enough_for_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "matrix.json"
            ours = cell("add", 1.0, 1 << 26, bytes=3e8, copy_us=75.0)
            del ours["ratio"], ours["theirs_us"]
            path.write_text(json.dumps({"device": "GPU", "cells": [ours], "copy_rate": 4.0, "wrong": [], "refused": []}))
            ops_matrix.HAS_GPU = False
            self.assertEqual(ops_matrix.main([str(path)]), 0)
            self.assertIn("add, f32, contiguous", path.with_suffix(".md").read_text())


if __name__ == "__main__":
    unittest.main(buffer=True)

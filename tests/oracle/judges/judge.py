#!/usr/bin/env python3
"""Judges results by NumPy. usage: judge.py CASES DATA

CASES holds a line of JSON per case: the op, its parameters, its inputs (a dense array and the views taken of it) and its
output; DATA the elements. Prints the first wrong cases with their seeds and fails. Every other file in this folder with a
table JUDGES adds ops: a function from a Case to the exact result, an array or an Exact.
"""

import importlib
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
try:
    import numpy as np
except ImportError:
    sys.exit("NumPy is missing: install the Debian package python3-numpy")

import tolerances
from case import Case, Exact
from formats import EPSILON, STORED, load, load_input, rounded_to, ulps_apart


def all_judges():
    judges = {}
    for file in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if file.stem == "judge":
            continue
        for op, function in getattr(importlib.import_module(file.stem), "JUDGES", {}).items():
            if op in judges:
                sys.exit(f"{op} is judged by two files, one of them {file.name}")
            judges[op] = function
    return judges


def fault_of(line, data, judges):
    """None, or what is wrong."""
    op, out = line["op"], line["output"]
    inputs = [np.asarray(load_input(data, spec)) for spec in line["inputs"]]
    found = load(data, out["dtype"], out["shape"], out["at"])
    if op not in judges:
        return "no file in this folder judges it"
    exact = judges[op](Case(op, line["params"], inputs, line["inputs"], out, line["number"]))
    if not isinstance(exact, Exact):
        exact = Exact(exact)
    name = out["dtype"]
    if tuple(exact.value.shape) != tuple(out["shape"]):
        return f"shape {tuple(out['shape'])}, NumPy has {tuple(exact.value.shape)}"
    if name not in EPSILON:
        wrong = np.asarray(found != exact.value.astype(STORED[name]))
    else:
        apart = ulps_apart(name, found, rounded_to(name, exact.value))
        wrong = np.asarray(apart > tolerances.ulps(op, name))
        if exact.magnitude is not None:
            computed = "float32" if name in ("float16", "bfloat16") else name
            slack = tolerances.ROUNDINGS[op](exact.terms) * EPSILON[computed] * exact.magnitude
            if computed != name:
                slack = slack + 2 * EPSILON[name] * np.abs(exact.value)  # one ulp
            smallest = np.finfo(np.float32).tiny * (computed == "float32")
            wrong = wrong & ~(np.abs(found.astype(np.longdouble) - exact.value) <= slack + smallest)
    if exact.free is not None:
        wrong = wrong & ~exact.free
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} elements, first at {at}: {found[at]!r}, NumPy has {exact.value[at]!r}"


def main():
    with open(sys.argv[2], "rb") as f:
        data = f.read()
    judges = all_judges()
    wrong = 0
    judged = 0
    with open(sys.argv[1]) as f:
        for text in f:
            line = json.loads(text)
            judged += 1
            fault = fault_of(line, data, judges)
            if fault is None:
                continue
            wrong += 1
            if wrong <= 5:
                print(f"seed {line['seed']} on {line['device']}: {line['op']} {line['params']}", file=sys.stderr)
                for spec in line["inputs"]:
                    print(f"  {spec['dtype']}{spec['base']} {spec['views']}", file=sys.stderr)
                print(f"  gives {line['output']['dtype']}{line['output']['shape']}: {fault}", file=sys.stderr)
    if judged == 0:
        sys.exit("there was nothing to judge")
    if wrong:
        sys.exit(f"{wrong} of {judged} cases differ from NumPy")


main()

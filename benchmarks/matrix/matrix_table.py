#!/usr/bin/env python3
"""The matrix of ratios in Markdown. usage: matrix_table.py MATRIX.json [MATRIX.md]   (prints it where no file is named)

MATRIX.json is what ops_matrix writes: cells with ours_us and theirs_us. A ratio is theirs / ours: above 1, ours is faster.
"""

import json
import statistics
import sys

SIZES = {1 << 10: "1 Ki", 1 << 20: "1 Mi", 1 << 26: "64 Mi"}
TARGETS = {1 << 10: 1.2, 1 << 20: 1.0, 1 << 26: 1.0}
LAYOUTS = ["contiguous", "transposed"]
SHORT = {"float32": "f32", "bfloat16": "bf16", "float16": "f16", "int32": "i32", "int64": "i64", "bool": "bool"}
LEAST_SHARE = 0.85  # of the rate of a copy
LEAST_US = 10  # a copy of fewer bytes takes about as long as a launch: memory does not bound such a cell


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def time(us):
    return f"{number(us / 1e3)} ms" if us >= 1e3 else f"{number(us)} us"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def heading(columns):
    return [row(columns), "|---" * len(columns) + "|"]


def name_of(cell):
    return f"{cell['op']}, {SHORT[cell['dtype']]}, {cell['layout']}, {SIZES[cell['size']]}"


def medians(cells):
    lines = heading(["size", "cells", "median", *LAYOUTS, "lowest", "target", ""])
    for size, name in SIZES.items():
        of_size = [cell for cell in cells if cell["size"] == size]
        if not of_size:
            continue
        ratios = [cell["ratio"] for cell in of_size]
        by_layout = [[cell["ratio"] for cell in of_size if cell["layout"] == layout] for layout in LAYOUTS]
        median = statistics.median(ratios)
        lines.append(
            row([name, str(len(ratios)), f"**{number(median)}**", *(number(statistics.median(each)) if each else "" for each in by_layout),
                 number(min(ratios)), f">= {TARGETS[size]}", "met" if median >= TARGETS[size] else "**not met**"])
        )
    return lines


def low_cells(cells):
    """Under 0.5, then under 0.8, the lowest first."""
    lines = []
    for title, low, high in (("Under 0.5", 0, 0.5), ("From 0.5 to 0.8", 0.5, 0.8)):
        found = sorted((cell for cell in cells if low <= cell["ratio"] < high), key=lambda cell: cell["ratio"])
        lines += ["", f"### {title}: {len(found)} of {len(cells)} cells", ""]
        if found:
            lines += heading(["cell", "ratio", "ours", "theirs"])
            lines += [row([name_of(cell), number(cell["ratio"]), time(cell["ours_us"]), time(cell["theirs_us"])]) for cell in found]
    return lines


def shares(cells, copy_rate):
    """Of the rate of a copy, for what only moves memory, at the largest size."""
    bytes_per_us = copy_rate * 1e6
    large = [cell for cell in cells if cell["is_pass"] and cell["size"] == 1 << 26 and cell["bytes"] / bytes_per_us >= LEAST_US]
    found = [(cell["bytes"] / cell["ours_us"] / bytes_per_us, cell) for cell in large]
    if not found:
        return []
    found.sort(key=lambda each: each[0])
    all_shares = [share for share, _ in found]
    low = [(share, cell) for share, cell in found if share < LEAST_SHARE]
    lines = ["", "### Memory-bound ops at 64 Mi", ""]
    lines += [f"Bytes that have to move per second, as a share of a copy's ({copy_rate:.2f} TB/s): median "
              f"{statistics.median(all_shares):.2f} of {len(found)} cells; {len(low)} under {LEAST_SHARE}. Cells with less to move than a "
              f"copy does in {LEAST_US} us are left out."]
    if low:
        lines += ["", *heading(["cell", "share", "TB/s", "time", "a copy of as much", "theirs"])]
        lines += [
            row([name_of(cell), f"{share:.2f}", f"{share * copy_rate:.2f}", time(cell["ours_us"]), time(cell["copy_us"]),
                 time(cell["theirs_us"]) if "theirs_us" in cell else ""])
            for share, cell in low
        ]
    return lines


def all_cells(cells):
    sizes = [size for size in SIZES if any(cell["size"] == size for cell in cells)]
    by_row = {}
    for cell in cells:
        by_row.setdefault((cell["op"], SHORT[cell["dtype"]]), {})[cell["size"], cell["layout"]] = cell["ratio"]
    columns = [f"{SIZES[size]} {layout}" for size in sizes for layout in LAYOUTS]
    lines = ["", "### All ratios", "", *heading(["op", "dtype", *columns])]
    for (op, dtype), ratios in by_row.items():
        found = [ratios.get((size, layout)) for size in sizes for layout in LAYOUTS]
        lines.append(row([op, dtype, *("" if each is None else f"**{number(each)}**" if each < 0.8 else number(each) for each in found)]))
    return lines


def notes(data):
    lines = []
    for key, title in (
        ("wrong", "Results of ours that are wrong, not timed"),
        ("inaccurate", "The peer is far from the result in double precision, ours is not"),
        ("refused", "Cells that one side cannot run"),
    ):
        if data.get(key):
            lines += ["", f"### {title}: {len(data[key])}", "", *(f"- {each}" for each in data[key])]
    if data.get("absent"):
        lines += ["", f"Entries whose function is not there: {', '.join(data['absent'])}."]
    if data.get("skipped"):
        lines += ["", f"{data['skipped']} cells were left out for want of time."]
    return lines


def report(data):
    cells = data["cells"]
    compared = [cell for cell in cells if "ratio" in cell]
    threads = f", {data['threads']} threads" if "threads" in data else ""
    lines = [f"{data['device']}; peer: {data.get('peer') or 'none here'}{threads}. Ratio = theirs / ours: above 1, ours is faster."]
    if compared:
        lines += ["", *medians(compared), *low_cells(compared)]
    if "copy_rate" in data:
        lines += shares(cells, data["copy_rate"])
    if compared:
        lines += all_cells(compared)
    return "\n".join([*lines, *notes(data)]) + "\n"


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        made = report(json.load(file))
    if len(sys.argv) == 3:
        with open(sys.argv[2], "w") as file:
            file.write(made)
    else:
        print(made, end="")

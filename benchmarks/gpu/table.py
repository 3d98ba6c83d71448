#!/usr/bin/env python3
"""Joins the lines "side.name value unit" of every round into gpu.json and a table in Markdown.
usage: table.py RESULTS   (reads RESULTS/*.lines, writes RESULTS/gpu.json and RESULTS/gpu.md)"""

import datetime
import json
import pathlib
import statistics
import sys

# name, unit, what, and the target: (side, most or least ratio to it), ("most", value) or ("margin", most above bare).
ROWS = [
    ("enqueue_add", "us", "enqueue one small kernel (32x32 add)", ("bare", 1.15)),
    ("record_event", "us", "record an event", ("bare", 1.0)),
    ("allocate_4k", "us", "allocate + free 4 KiB from the pool", ("most", 0.1)),
    ("allocate_mixed", "us", "mixed allocations, per call", ("most", 0.2)),
    ("item", "us", "read one scalar that is ready (`item`)", ("bare", 1.1)),
    ("item_again", "us", "the same value once more", None),
    ("late_read_extra", "us", "a scalar read a step late, added to a step", ("margin", 0.5)),
    ("add_sync", "us", "op, then sync of the device", ("bare", 1.15)),
    ("add_stream_sync", "us", "op, then sync of its stream", ("bare", 1.15)),
    ("sync_idle", "us", "sync of an idle device", ("most", 0.2)),
    ("matmul_bf16", "TFLOP/s", "matmul bf16 8192", ("torch", 0.97)),
    ("matmul_f32", "TFLOP/s", "matmul f32 8192", ("torch", 0.97)),
    ("matmul_tf32", "TFLOP/s", "matmul tf32 8192", ("torch", 0.97)),
    ("sum_1g", "TB/s", "sum of 1 GiB f32", ("torch", 0.97)),
    ("copy_1g", "TB/s", "copy of 1 GiB on the device, read and written", ("torch", 0.97)),
    ("add_1g", "TB/s", "add of 1 GiB and 1 GiB f32", ("torch", 0.97)),
    ("exp_1g", "TB/s", "exp of 1 GiB f32", ("torch", 0.97)),
    ("h2d_pinned", "GB/s", "host to device, pinned, 256 MiB", ("bare", 0.97)),
    ("d2h_pinned", "GB/s", "device to host, pinned, 256 MiB", ("bare", 0.97)),
    ("h2d_pageable", "GB/s", "host to device, pageable, 256 MiB", ("bare", 2.0)),
    ("d2h_pageable", "GB/s", "device to host, pageable, 256 MiB", ("bare", 2.0)),
    ("random_squares", "ms", "`uniform(1024,1024); mm` 1000 times, one sync", ("floor", 1.05)),
    ("random_squares_synced", "ms", "the same with a sync each", None),
    ("step_small", "us", "training step 64, 256-512-512-10, f32", ("hand", 1.15)),
    ("step_small_enqueue", "us", "the same, until the host is through", ("hand", 1.15)),
    ("step_small_peak", "MiB", "the same, most memory in use", ("torch", 1.1)),
    ("step_small_tf32", "us", "the same step in tf32", ("hand", 1.15)),
    ("step_large", "us", "training step 4096, 1024-4096-4096-1000, tf32", ("hand", 1.15)),
    ("step_large_enqueue", "us", "the same, until the host is through", None),
    ("step_large_peak", "MiB", "the same, most memory in use", ("torch", 1.1)),
    ("captured_small", "us", "captured step 64, 256-512-512-10, f32; PyTorch's CUDA graph", ("most", 60)),
    ("captured_small_enqueue", "us", "the same, until the host is through", None),
    ("captured_small_first_call", "us", "the same, its first call", None),
    ("captured_small_tf32", "us", "the captured step in tf32", ("most", 45)),
    ("captured_large", "us", "captured step 4096, 1024-4096-4096-1000, tf32", ("torch", 1.0)),
    ("fit_small", "us", "a step of fit, 64, 256-512-512-10, f32", None),
    ("chain", "us", "`gelu(x*w+b)*m+r` of 16 Mi, captured; torch.compile", ("most", 115)),
    ("chain_eager", "us", "the same, eager", None),
    ("small_ops", "us", "100 small ops in a row, captured, not fused", ("most", 60)),
    ("small_ops_enqueue", "us", "the same, until the host is through", None),
]
HIGHER_IS_BETTER = ("TFLOP/s", "TB/s", "GB/s")
PEERS = {"bare": "bare CUDA", "torch": "PyTorch", "floor": "GPU busy", "hand": "by hand"}


def read(folder):
    """({name: {side: [a value per round]}}, what the programs say about the machine)"""
    values, facts = {}, {}
    for path in sorted(folder.glob("*.lines")):
        for line in path.read_text().splitlines():
            if line.startswith("# "):
                key, _, fact = line[2:].partition(" ")
                facts.setdefault(key, fact)
                continue
            words = line.split()
            if len(words) != 3 or "." not in words[0]:
                continue
            side, name = words[0].split(".", 1)
            values.setdefault(name, {}).setdefault(side, []).append(float(words[1]))
    return values, facts


def judge(target, sides, is_rate):
    """(ratio, the target in words, whether it is met); None for what cannot be said."""
    if target is None:
        return None, "", None
    kind, goal = target
    ours = sides.get("tutti")
    if kind == "most":
        return None, f"<= {goal} us", None if ours is None else ours <= goal
    peer = sides.get("bare" if kind == "margin" else kind)
    if kind == "margin":
        return None, f"<= bare + {goal} us", None if None in (ours, peer) else ours <= max(peer, 0) + goal
    words = f"{'>=' if is_rate else '<='} {goal} x {PEERS[kind]}"
    if None in (ours, peer) or peer <= 0:
        return None, words, None
    ratio = ours / peer
    return ratio, words, ratio >= goal if is_rate else ratio <= goal


def number(value):
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


def spread(rounds):
    """How far the rounds of any side lie apart, as a share."""
    shares = [(max(each) - min(each)) / abs(statistics.median(each)) for each in rounds.values() if statistics.median(each) != 0]
    return max(shares, default=0)


def main(folder):
    values, facts = read(folder)
    rows, lines = [], []
    for name, unit, what, target in ROWS:
        rounds = values.get(name, {})
        sides = {side: statistics.median(each) for side, each in rounds.items()}
        ratio, words, is_met = judge(target, sides, unit in HIGHER_IS_BETTER)
        row = {"name": name, "what": what, "unit": unit, "rounds": rounds, "medians": sides}
        rows.append(row | {"ratio": ratio, "target": words, "met": is_met})
        floor = next((f"{number(sides[side])} ({PEERS[side]})" for side in ("floor", "hand") if side in sides), number(sides.get("bare")))
        met = {True: "met", False: "**not met**", None: "" if target is None else "not measured"}[is_met]
        figures = [floor, number(sides.get("torch")), number(sides.get("tutti")), "" if ratio is None else f"{ratio:.2f}"]
        lines.append("| " + " | ".join([what, unit, *figures, words, met, f"{spread(rounds):.0%}" if rounds else ""]) + " |")
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    machine = ", ".join(filter(None, [facts.get("gpu", "no GPU"), facts.get("driver") and f"driver {facts['driver']}"]))
    torch = f"PyTorch {facts['torch']}" if "torch" in facts else "PyTorch absent"
    count = max((len(each) for rounds in values.values() for each in rounds.values()), default=0)
    heading = f"{date}, {machine}; {torch}; tutti {facts.get('tutti', '?')}. Medians; {count} rounds, and how far they lie apart."
    columns = ["what", "unit", "bare CUDA", "PyTorch", "tutti", "ratio", "target", "", "spread"]
    table = "\n".join([heading, "", "| " + " | ".join(columns) + " |", "|---" * len(columns) + "|", *lines, ""])
    (folder / "gpu.md").write_text(table)
    (folder / "gpu.json").write_text(json.dumps({"date": date, **facts, "rows": rows}, indent=2) + "\n")
    print(table)


main(pathlib.Path(sys.argv[1]))

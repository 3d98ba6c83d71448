#!/usr/bin/env python3
"""PyTorch's side of gpu_networks: the same convolutions and attention, its best of both layouts, cuDNN's search on.
usage: networks.py TIMES.json [--seconds N] [--deterministic]   (prints both sides and the ratio of the best of each)
--deterministic: PyTorch takes only what gives the same bits on every run
"""

import json
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

MODES = {"bf16": (torch.bfloat16, False), "f16": (torch.float16, False), "tf32": (torch.float32, True), "f32": (torch.float32, False)}


def device_us(function):
    for _ in range(3):
        function()
    torch.cuda.synchronize()
    start = time.perf_counter()
    function()
    torch.cuda.synchronize()
    calls = int(min(max(4e-3 / (time.perf_counter() - start), 2), 100))
    samples = []
    for _ in range(5):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        torch.cuda._sleep(int(2e6))  # the host runs ahead
        first.record()
        for _ in range(calls):
            function()
        last.record()
        last.synchronize()
        samples.append(first.elapsed_time(last) * 1e3 / calls)
    return sorted(samples)[2]


def random(*shape, dtype):
    return torch.empty(shape, device="cuda", dtype=torch.float32).uniform_(-1, 1).to(dtype)


def convolution(shape, part, dtype, layout):
    batch, cin, cout, size, kernel, stride = shape
    pad = kernel // 2
    outputs = (size + 2 * pad - kernel) // stride + 1
    x = random(batch, cin, size, size, dtype=dtype).to(memory_format=layout)
    w = random(cout, cin, kernel, kernel, dtype=dtype).to(memory_format=layout)
    y = random(batch, cout, outputs, outputs, dtype=dtype).to(memory_format=layout)
    if part == "forward":
        return lambda: F.conv2d(x, w, stride=stride, padding=pad)
    mask = [part == "of images", part == "of weight", False]
    return lambda: torch.ops.aten.convolution_backward(y, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], 1, mask)


def attention(shape, part, dtype):
    batch, heads, length, features, causal, masked = shape
    q, k, v, g = (random(batch, heads, length, features, dtype=dtype) for _ in range(4))
    mask = None
    if masked:
        ends = length - 100 * torch.arange(1, batch + 1, device="cuda").reshape(batch, 1, 1, 1)
        mask = (torch.arange(length, device="cuda") < ends).expand(batch, 1, length, length)
    if part == "forward":
        return lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    for each in (q, k, v):
        each.requires_grad_()
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
    return lambda: torch.autograd.grad(out, (q, k, v), g, retain_graph=True)


def best_attention(shape, part, dtype):
    found = {}
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION):
        try:
            with sdpa_kernel([backend]):
                found[backend.name.split("_")[0].lower()] = device_us(attention(shape, part, dtype))
        except RuntimeError:
            pass
    return found


def main():
    rows = json.load(open(sys.argv[1]))
    seconds = float(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 60
    torch.backends.cudnn.benchmark = True
    torch.use_deterministic_algorithms("--deterministic" in sys.argv)
    start = time.perf_counter()
    cells = {}
    for row in rows:
        key = (row["name"], row["part"], row["mode"])
        cell = cells.setdefault(key, {"shape": row["shape"]})
        cell["last" if row["channels_last"] else "first"] = row["us"]
    print(f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}; us, the best of each side")
    worst = {}
    for (name, part, mode), cell in cells.items():
        if time.perf_counter() - start > seconds:
            print(f"{name} {part} {mode}: no time")
            continue
        dtype, tf32 = MODES[mode]
        torch.backends.cudnn.allow_tf32 = tf32
        torch.backends.cuda.matmul.allow_tf32 = tf32
        if isinstance(cell["shape"][4], bool):  # causal or not
            theirs = best_attention(cell["shape"], part, dtype)
        else:
            layouts = {"first": torch.contiguous_format, "last": torch.channels_last}
            theirs = {which: device_us(convolution(cell["shape"], part, dtype, layout)) for which, layout in layouts.items()}
        ours = {which: cell[which] for which in ("first", "last") if which in cell}
        cell["torch"] = theirs
        ratio = min(ours.values()) / min(theirs.values())
        worst.setdefault(mode, []).append(ratio)
        show = lambda times: ", ".join(f"{which} {us:.1f}" for which, us in times.items())
        print(f"{name:34} {part:10} {mode:5} tutti {show(ours):28} torch {show(theirs):34} {ratio:5.2f}")
    for mode, ratios in worst.items():
        ratios.sort()
        print(f"{mode}: median {ratios[len(ratios) // 2]:.2f}, worst {ratios[-1]:.2f}, above 1.2: {sum(r > 1.2 for r in ratios)} of {len(ratios)}")
    json.dump([{"name": n, "part": p, "mode": m, **c} for (n, p, m), c in cells.items()], open(sys.argv[1], "w"), indent=1)


if __name__ == "__main__":
    main()

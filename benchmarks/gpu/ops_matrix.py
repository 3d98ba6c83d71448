#!/usr/bin/env python3
"""PyTorch's side of the matrix of ops on one GPU: times the cells that gpu_matrix measured, and prints both as ratios.
usage: ops_matrix.py MATRIX.json [--seconds N]   (adds to MATRIX.json and writes MATRIX.md beside it; without PyTorch and a GPU
the page holds our side alone)
"""

import json
import pathlib
import re
import statistics
import sys
import time

import matrix_table

try:
    import torch
    import torch.nn.functional as F  # noqa: F401: expressions use it

    HAS_GPU = torch.cuda.is_available()
except ImportError:
    HAS_GPU = False

DTYPES = {"kFloat": "float32", "kDouble": "float64", "kInt": "int32", "kLong": "int64", "kBFloat16": "bfloat16", "kBool": "bool"}
IN_FUNCTIONAL = ("gelu", "silu", "avg_pool2d", "one_hot", "cross_entropy_loss", "dropout")
SHAPED_BY_DATA = ("nonzero", "masked_select", "unique")
LIKE = {"device": "cuda"}


def closing(text, start):
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    raise ValueError(text)


def to_python(text):
    """libtorch's C++ as Python: at::sum(x, {1}) -> torch.sum(x, (1,))"""
    text = text.replace("std::get<0>(at::_unique(x))", "torch.unique(x)")
    text = text.replace("std::get<0>(at::_scaled_dot_product_attention(x, y, z, {}, 0.0, false, true))",
                        "F.scaled_dot_product_attention(x, y, z, is_causal=True)")
    text = text.replace('at::gelu(x, "tanh")', 'F.gelu(x, approximate="tanh")').replace("c10::nullopt", "None")
    while match := re.search(r"std::get<(\d)>\(", text):
        end = closing(text, match.end() - 1)
        text = f"{text[: match.start()]}({text[match.end() : end]})[{match[1]}]{text[end + 1 :]}"
    text = re.sub(r"at::(k[A-Z]\w*)", lambda match: "torch." + DTYPES[match[1]], text)
    text = re.sub(r"at::(argsort)\(x, true, -1, false\)", r"torch.\1(x, dim=-1, stable=True)", text)
    for name in IN_FUNCTIONAL:
        text = re.sub(rf"at::{name}\(", f"F.{name.removesuffix('_loss')}(", text)
    text = re.sub(r"at::linalg_", "torch.linalg.", text)
    text = re.sub(r"at::(rand|randn|randperm|randint|arange)\((.*)\)$", r"torch.\1(\2, **LIKE)", text)
    text = text.replace("at::constant_pad_nd", "F.pad").replace("at::", "torch.").replace("::", ".")
    text = text.replace(".sizes()", ".shape").replace("true", "True").replace("false", "False")
    return text.replace("{", "(").replace("}", ",)")


def random(shape, dtype, low=-1.0, high=1.0):
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, device="cuda", dtype=dtype)
    if not dtype.is_floating_point:
        return torch.randint(-100 if low < 0 else 1, 101, shape, device="cuda", dtype=dtype)
    return torch.empty(shape, device="cuda", dtype=torch.float32).uniform_(low, high).to(dtype)


def laid_out(x, layout):
    return x.t() if layout == "transposed" else x


def operands(cell):
    n, dtype, layout = round(cell["size"] ** 0.5), getattr(torch, cell["dtype"]), cell["layout"]
    square = (n, n)
    index = lambda shape: torch.randint(0, n, shape, device="cuda")
    mask = lambda: random(square, torch.bool)
    match cell["operands"]:
        case "one":
            return [laid_out(random(square, dtype), layout)]
        case "two":
            return [laid_out(random(square, dtype), layout), random(square, dtype)]
        case "pair":
            return [laid_out(random(square, dtype), layout), random(square, dtype)]
        case "like":
            return [random(square, dtype)]
        case "positive":
            return [laid_out(random(square, dtype, 1, 3), layout)]
        case "positives":
            return [laid_out(random(square, dtype, 1, 3), layout), random(square, dtype, 1, 3)]
        case "choice":
            return [mask(), laid_out(random(square, dtype), layout), random(square, dtype)]
        case "sparse":
            return [laid_out(torch.relu(random(square, dtype)), layout)]
        case "masked":
            return [mask(), laid_out(random(square, dtype), layout)]
        case "rows":
            return [laid_out(random(square, dtype), layout), index((n,))]
        case "along":
            return [laid_out(random(square, dtype), layout), index(square)]
        case "sides":
            return [random((n,), dtype), random((n,), dtype)]
        case "sorted":
            return [random((n * n,), dtype).sort()[0], random((n * n,), dtype)]
        case "definite":
            a = random(square, dtype)
            return [(a + a.t()) / 2 + n * torch.eye(n, device="cuda", dtype=dtype), random(square, dtype)]
        case "images":
            shape = {32: (1, 16, 8, 8), 1024: (4, 16, 128, 128), 8192: (64, 16, 256, 256)}[n]
            return [random(shape, dtype), random((16, 16, 3, 3), dtype)]
        case "shaped":
            return [random(shape, dtype) for shape in cell["given"] if shape]
    raise ValueError(cell["operands"])


def sample(function, calls):
    """(microseconds per call on the device, on the host)"""
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    start = time.perf_counter()
    for _ in range(calls):
        function()
    host = time.perf_counter() - start
    last.record()
    last.synchronize()
    return first.elapsed_time(last) * 1e3 / calls, host * 1e6 / calls


def measure(function):
    """As gpu_matrix does it; what takes seconds is taken once."""
    start = time.perf_counter()
    function()
    torch.cuda.synchronize()
    if time.perf_counter() - start > 1:
        return sample(function, 1)
    function()
    torch.cuda.synchronize()
    start = time.perf_counter()
    sample(function, 2)
    once = (time.perf_counter() - start) / 2
    calls = int(min(max(3e-3 / once, 1), 100))
    function()
    torch.cuda.synchronize()
    samples = [sample(function, calls) for _ in range(2 if once > 20e-3 else 5)]
    return statistics.median(each[0] for each in samples), statistics.median(each[1] for each in samples)


def add_peer(data, seconds, save):
    """Where it was stopped, it goes on with the next cell."""
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    data["peer"] = "PyTorch " + torch.__version__
    start = time.perf_counter()
    held, held_for = None, None
    for cell in data["cells"]:
        name = matrix_table.name_of(cell)
        if "theirs_us" in cell or cell.get("tried"):
            continue
        if time.perf_counter() - start > seconds:
            data["skipped"] += 1
            continue
        if cell["size"] > 1 << 20:
            cell["tried"] = True
            save()
        try:
            needs = (cell["size"], cell["dtype"], cell["layout"], cell["operands"], cell.get("given"))
            if held_for != needs:
                held = operands(cell)
                held_for = needs
            function = eval("lambda x, y=None, z=None: " + to_python(cell["theirs"]))  # our own text, from entries.inc
            begun = time.perf_counter()
            result = function(*held)
            torch.cuda.synchronize()
            if time.perf_counter() - begun > 5:
                print(f"{name}: PyTorch's first call took {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
            if list(result.shape) != cell["shape"] and cell["op"] not in SHAPED_BY_DATA:
                data["wrong"].append(f"{name}: shape {cell['shape']}, PyTorch has {list(result.shape)}")
                continue
            del result
            begun = time.perf_counter()
            cell["theirs_us"], cell["theirs_host_us"] = measure(lambda: function(*held))
            if time.perf_counter() - begun > 5:
                print(f"{name}: PyTorch took {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
            cell["ratio"] = cell["theirs_us"] / cell["ours_us"]
        except Exception as error:  # one cell that fails leaves the others
            data["refused"].append(f"{name}: PyTorch: {str(error).splitlines()[0] if str(error) else repr(error)}")


def main(words):
    seconds = 220.0
    if "--seconds" in words:
        at = words.index("--seconds")
        seconds = float(words[at + 1])
        del words[at : at + 2]
    if len(words) != 1:
        sys.exit(__doc__)
    path = pathlib.Path(words[0])
    data = json.loads(path.read_text())
    if HAS_GPU:
        save = lambda: path.write_text(json.dumps(data, indent=1) + "\n")
        add_peer(data, seconds, save)
        save()
    page = matrix_table.report(data)
    path.with_suffix(".md").write_text(page)
    print(page)
    return 1 if data["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

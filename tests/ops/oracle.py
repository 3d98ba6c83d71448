#!/usr/bin/env python3
"""Judges results by NumPy. usage: oracle.py CASES DATA

CASES holds a line of JSON per case: the op, its parameters, its inputs (a dense array and the views taken of it) and its
output; DATA the elements. Prints the first wrong cases with their seeds and fails.
"""

import json
import sys

try:
    import numpy as np
except ImportError:
    sys.exit("NumPy is missing: install the Debian package python3-numpy")

np.seterr(all="ignore")
INTEGERS = {"uint8": np.uint8, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64}
STORED = {"bool": np.bool_, **INTEGERS, "float16": np.float16, "bfloat16": np.uint16, "float32": np.float32, "float64": np.float64}
# Half precision is computed in float32; bfloat16, which NumPy lacks, is also held in it.
COMPUTED = {**STORED, "float16": np.float32, "bfloat16": np.float32}
EPSILON = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}  # half an ulp of 1

# How far a result may lie from the exact one, as (ulps of the result, roundings of the dtype computed in times the sum of
# the magnitudes that were added). Ops that are not here are exact: they round once, or not at all.
#   exp     The series is good to 1 ulp with a fused multiply-add and to 2 without. Half precision rounds that once more,
#           which can only go to the neighbour: 1.
#   sum     Pairwise: one rounding per level, plus those inside a leaf, where no lane adds more than 16 of its elements
#           and the lanes are joined in at most 6 steps: log2(n) + 22 in all.
#   matmul  k products, each rounded at most once, and k - 1 additions in any order: k + k.
#   add_n   One rounding per addition.
# Half precision is summed in float32 and rounded once at the end: half an ulp, so 1 where the float32 sum differs.
ULPS = {("exp", "float16"): 1, ("exp", "bfloat16"): 1, ("exp", "float32"): 2, ("exp", "float64"): 2}
ROUNDINGS = {
    "sum": lambda n: np.log2(max(n, 2)) + 22,
    "matmul": lambda n: 2 * n,
    "add_n": lambda n: n,
}


def viewed(x, dtype):
    """The same bits as another dtype of that size; also for arrays without axes."""
    return np.ascontiguousarray(x).reshape(-1).view(dtype).reshape(np.shape(x))


def to_bfloat16(x):
    """To nearest, ties to even, held as float32."""
    x = np.asarray(x)
    if x.dtype != np.float32:  # by way of float32, rounded to odd there, so that the second rounding is the right one
        x = x.astype(np.longdouble)  # holds every int64 and float64
        near = x.astype(np.float32)
        bits = viewed(near, np.uint32)
        inexact = (near.astype(np.longdouble) != x) & np.isfinite(near)
        beyond = np.abs(near.astype(np.longdouble)) > np.abs(x)
        x = viewed(np.where(inexact, (bits - (beyond & inexact)) | 1, bits).astype(np.uint32), np.float32)
    bits = viewed(x, np.uint32).astype(np.int64)
    rounded = viewed(((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32), np.float32)
    return np.where(np.isnan(x), np.float32(np.nan), rounded)


def rounded_to(name, x):
    x = np.asarray(x)
    if name == "bfloat16":
        return to_bfloat16(x)
    if name == "float16":
        return x.astype(np.float16).astype(np.float32)
    return x.astype(STORED[name])


def load(data, name, shape, at):
    count = int(np.prod(shape, dtype=np.int64))
    x = np.frombuffer(data, STORED[name], count, at).reshape(shape) if count else np.zeros(shape, STORED[name])
    if name == "bfloat16":
        return viewed(np.left_shift(x.astype(np.uint32), np.uint32(16)), np.float32)
    return x.astype(COMPUTED[name])


def load_input(data, spec):
    x = load(data, spec["dtype"], spec["base"], spec["at"])
    for kind, *rest in spec["views"]:
        if kind == "slice":
            axis, start, stop, step = rest
            index = [slice(None)] * x.ndim
            index[axis] = slice(start, stop, step)
            x = x[tuple(index)]
        elif kind == "transpose":
            x = x.transpose(rest[0])
        elif kind == "expand":
            x = np.broadcast_to(x, rest[0])
        elif kind == "reshape":
            x = x.reshape(rest[0])
    return x


def cast(x, source, target):
    """Like C++ where that is defined; floats beyond an integer's range stay at its ends, NaN becomes 0."""
    if target == "bool":
        return x != 0
    if target in INTEGERS and (source.startswith("float") or source == "bfloat16"):
        limits = np.iinfo(INTEGERS[target])
        whole = np.trunc(np.nan_to_num(np.asarray(x, np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf))
        inside = (whole >= float(limits.min)) & (whole <= float(limits.max)) & (whole < 2.0**63)
        ends = np.where(whole < 0, limits.min, limits.max)
        return np.where(inside, np.where(inside, whole, 0).astype(np.int64), ends).astype(INTEGERS[target])
    return rounded_to(target, x)


def expected(op, params, inputs, specs, out):
    """The exact result as far as NumPy has it, and where sums are formed the sum of magnitudes and how many there are."""
    name = out["dtype"]
    # Arguments of another dtype are brought to the common one first.
    if op in ("add", "mul", "matmul"):
        inputs = [cast(x, s["dtype"], name) if s["dtype"] != name else x for x, s in zip(inputs, specs)]
    wide = {"float16": np.float64, "bfloat16": np.float64, "float32": np.float64, "float64": np.longdouble}.get(name)
    if op == "add":
        return inputs[0] + inputs[1], None, 0
    if op == "mul":
        return inputs[0] * inputs[1], None, 0
    if op == "exp":
        return np.exp(inputs[0].astype(wide)), None, 0
    if op == "relu":
        return np.where(inputs[0] < 0, np.zeros_like(inputs[0]), inputs[0]), None, 0
    if op == "where":
        a, b = (cast(x, s["dtype"], name) if s["dtype"] != name else x for x, s in zip(inputs[1:], specs[1:]))
        return np.where(inputs[0], a, b), None, 0
    if op == "cast":
        return cast(inputs[0], specs[0]["dtype"], name), None, 0
    if op == "sum":
        axes = None if params["axes"] is None else tuple(params["axes"])
        x = inputs[0]
        if wide is None:
            return np.sum(x, axes, np.int64, keepdims=params["keep_dims"]), None, 0
        total = np.sum(x.astype(wide), axes, keepdims=params["keep_dims"])
        magnitude = np.sum(np.abs(x.astype(wide)), axes, keepdims=params["keep_dims"])
        return total, magnitude, max(x.size // max(total.size, 1), 1)
    if op == "matmul":
        a, b = inputs
        if wide is None:
            return np.matmul(a, b), None, 0
        return np.matmul(a.astype(wide), b.astype(wide)), np.matmul(np.abs(a).astype(wide), np.abs(b).astype(wide)), max(a.shape[-1], 1)
    if op == "add_n":
        if wide is None:
            total = inputs[0]
            for x in inputs[1:]:
                total = total + x
            return total, None, 0
        return sum(x.astype(wide) for x in inputs), sum(np.abs(x).astype(wide) for x in inputs), len(inputs)
    if op == "take":
        return np.take(inputs[0], inputs[1], params["axis"]), None, 0
    if op == "nonzero":
        return np.argwhere(inputs[0]), None, 0
    if op == "count_nonzero":
        return np.asarray(np.count_nonzero(inputs[0])), None, 0
    if op == "same":
        return inputs[0], None, 0
    raise ValueError(op)


def ulps_apart(name, a, b):
    """Floats of a dtype between two of them. NaN is 0 apart from NaN."""
    if name == "float64":
        bits, sign = np.int64, np.int64(-(2**63))
    elif name == "float16":
        a, b, bits, sign = a.astype(np.float16), b.astype(np.float16), np.int16, np.int16(-(2**15))
    else:
        bits, sign = np.int32, np.int32(-(2**31))
    unit = 2.0**16 if name == "bfloat16" else 1.0  # held as float32
    as_number = lambda x: np.where(viewed(x, bits) < 0, sign - viewed(x, bits), viewed(x, bits)).astype(np.longdouble)
    apart = np.abs(as_number(a) - as_number(b)) / unit
    return np.where(np.isnan(a) & np.isnan(b), 0, np.where(np.isnan(a) != np.isnan(b), np.inf, apart))


def judge(case, data):
    """None, or what is wrong."""
    op, out = case["op"], case["output"]
    inputs = [np.asarray(load_input(data, spec)) for spec in case["inputs"]]
    found = load(data, out["dtype"], out["shape"], out["at"])
    exact, magnitude, count = expected(op, case["params"], inputs, case["inputs"], out)
    exact = np.asarray(exact)
    name = out["dtype"]
    if tuple(exact.shape) != tuple(out["shape"]):
        return f"shape {tuple(out['shape'])}, NumPy has {tuple(exact.shape)}"
    if name not in EPSILON:
        wrong = np.asarray(found != exact.astype(STORED[name]))
    else:
        near = rounded_to(name, exact)
        apart = ulps_apart(name, found, near)
        wrong = apart > ULPS.get((op, name), 0)
        if magnitude is not None:
            computed = "float32" if name in ("float16", "bfloat16") else name
            slack = ROUNDINGS[op](count) * EPSILON[computed] * magnitude
            if computed != name:
                slack = slack + 2 * EPSILON[name] * np.abs(exact)  # one ulp
            close = np.abs(found.astype(np.longdouble) - exact) <= slack + np.finfo(np.float32).tiny * (computed == "float32")
            wrong = wrong & ~close
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} elements, first at {at}: {found[at]!r}, NumPy has {exact[at]!r}"


def main():
    with open(sys.argv[2], "rb") as f:
        data = f.read()
    wrong = 0
    judged = 0
    with open(sys.argv[1]) as f:
        for line in f:
            case = json.loads(line)
            judged += 1
            fault = judge(case, data)
            if fault is None:
                continue
            wrong += 1
            if wrong <= 5:
                print(f"seed {case['seed']} on {case['device']}: {case['op']} {case['params']}", file=sys.stderr)
                for spec in case["inputs"]:
                    print(f"  {spec['dtype']}{spec['base']} {spec['views']}", file=sys.stderr)
                print(f"  gives {case['output']['dtype']}{case['output']['shape']}: {fault}", file=sys.stderr)
    if judged == 0:
        sys.exit("there was nothing to judge")
    if wrong:
        sys.exit(f"{wrong} of {judged} cases differ from NumPy")


main()

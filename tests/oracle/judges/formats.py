"""The dtypes as NumPy has them, bfloat16 (which it lacks) held as float32, and the casts between them."""

import numpy as np

np.seterr(all="ignore")
INTEGERS = {"uint8": np.uint8, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64}
STORED = {"bool": np.bool_, **INTEGERS, "float16": np.float16, "bfloat16": np.uint16, "float32": np.float32, "float64": np.float64}
# Half precision is computed in float32; bfloat16, which NumPy lacks, is also held in it.
COMPUTED = {**STORED, "float16": np.float32, "bfloat16": np.float32}
EPSILON = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}  # half an ulp of 1


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


def wide(name):
    """What the exact result of floats is worked out in; None for other dtypes."""
    return {"float16": np.float64, "bfloat16": np.float64, "float32": np.float64, "float64": np.longdouble}.get(name)

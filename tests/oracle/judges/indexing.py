"""Indexing, gathers, scatters and selections."""

import numpy as np

from case import Exact
from formats import cast, wide


def key_of(case):
    """The items between the brackets, as NumPy takes them."""
    key = []
    for kind, *rest in case.params["items"]:
        if kind == "int":
            key.append(rest[0])
        elif kind == "range":
            key.append(slice(*rest))
        elif kind == "ellipsis":
            key.append(Ellipsis)
        elif kind == "new":
            key.append(None)
        else:
            key.append(case.inputs[rest[0]])
    return tuple(key)


def in_order(x):
    """Floats as integers in the same order, -0 before 0; NaN has no place in it."""
    if x.dtype.kind != "f":
        return x
    bits = x.view(np.int64 if x.dtype == np.float64 else np.int32)
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def extreme(x, places, values, ufunc):
    """The least or greatest of each element and the values that meet it: NaN wins."""
    if x.dtype.kind != "f":
        ufunc.at(x, places, values)
        return x
    keys = in_order(x)
    ufunc.at(keys, places, np.where(np.isnan(values), keys[places], in_order(values)))
    spoiled = np.isnan(x)
    np.logical_or.at(spoiled, places, np.isnan(values))
    back = np.where(keys < 0, keys ^ np.iinfo(keys.dtype).max, keys).view(x.dtype)
    return np.where(spoiled, np.nan, back)


def scattered(case, numbers, values):
    """Values that meet places, by number, in row order."""
    name, mode = case.output["dtype"], case.params["mode"]
    x = np.array(case.inputs[0]).reshape(-1)
    if case.specs[-1]["dtype"] != name:
        values = cast(values, case.specs[-1]["dtype"], name)
    values = np.broadcast_to(values, numbers.shape).reshape(-1).astype(x.dtype)
    places = numbers.reshape(-1)
    shape = case.inputs[0].shape
    if mode == "set":
        x[places] = values
        return x.reshape(shape)
    if mode in ("min", "max"):
        return extreme(x, places, values, np.minimum if mode == "min" else np.maximum).reshape(shape)
    ufunc = np.add if mode == "add" else np.multiply
    if name in ("float16", "bfloat16"):
        # Worked out in float32 and rounded once.
        kind = wide(name)
        exact, size = x.astype(kind), np.abs(x).astype(kind)
        ufunc.at(exact, places, values.astype(kind))
        ufunc.at(size, places, np.abs(values).astype(kind))
        most = np.bincount(places).max() if places.size else 1
        return Exact(exact.reshape(shape), size.reshape(shape), int(most))
    ufunc.at(x, places, values)  # in the order of the values, as ops add them up
    return x.reshape(shape)


def numbered(x):
    return np.arange(x.size, dtype=np.int64).reshape(x.shape)


def at(case):
    return scattered(case, numbered(case.inputs[0])[key_of(case)], case.inputs[-1])


def from_front(indices, size):
    indices = indices.astype(np.int64)
    return np.where(indices < 0, indices + size, indices)


def covered(x, axis, indices):
    """The part of x that indices cover, but all of it along the axis."""
    axis %= x.ndim
    return x[tuple(slice(None) if i == axis else slice(n) for i, n in enumerate(indices.shape))]


def gather(case):
    x, indices = case.inputs
    axis = case.params["axis"]
    return np.take_along_axis(covered(x, axis, indices), from_front(indices, x.shape[axis]), axis)


def take_along_axis(case):
    x, indices = case.inputs
    axis = case.params["axis"] % x.ndim
    # NumPy's own broadcasts the indices alone.
    sides = [list(x.shape), list(indices.shape)]
    sides[0][axis] = sides[1][axis] = 1
    common = list(np.broadcast_shapes(*map(tuple, sides)))
    common[axis] = x.shape[axis]
    return np.take_along_axis(np.broadcast_to(x, common), from_front(indices, x.shape[axis]), axis)


def scatter(case):
    x, indices, values = case.inputs
    axis = case.params["axis"]
    numbers = np.take_along_axis(covered(numbered(x), axis, indices), from_front(indices, x.shape[axis]), axis)
    return scattered(case, numbers, values)


def padded(found, size, fill):
    out = np.full((size,) + found.shape[1:], fill, found.dtype)
    out[: len(found)] = found[:size]
    return out


def nonzero_of_size(case):
    found = np.argwhere(case.inputs[0])
    return np.asarray(len(found)) if case.number else padded(found, case.params["size"], case.params["fill"])


def masked(case):
    x, mask = np.broadcast_arrays(*case.inputs)
    return x[mask]


def masked_scatter(case):
    x, mask, values = case.inputs
    out = np.array(x)
    out[mask] = values.reshape(-1)[: np.count_nonzero(mask)]
    return out


def masked_select_of_size(case):
    found = masked(case)
    return np.asarray(len(found)) if case.number else padded(found, case.params["size"], case.params["fill"])


def repeat_interleave(case):
    times = case.params["times"] if "times" in case.params else case.inputs[1].astype(np.int64)
    return np.repeat(case.inputs[0], times, case.params["axis"])


JUDGES = {
    "index": lambda case: case.inputs[0][key_of(case)],
    "at": at,
    "gather": gather,
    "take_along_axis": take_along_axis,
    "index_select": lambda case: np.take(case.inputs[0], case.inputs[1].astype(np.int64), case.params["axis"]),
    "scatter": scatter,
    "nonzero_of_size": nonzero_of_size,
    "masked_select": masked,
    "masked_select_of_size": masked_select_of_size,
    "masked_scatter": masked_scatter,
    "repeat_interleave": repeat_interleave,
}

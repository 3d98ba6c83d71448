"""Running sums and products."""

import numpy as np

from case import Exact
from formats import cast, wide


def cumulative_sum(case):
    x, axis = case.inputs[0], case.params["axis"]
    source, name = case.specs[0]["dtype"], case.output["dtype"]
    if source != name and (wide(name) or wide(source)):
        x = cast(x, source, name)
    kind = wide(name) or np.int64
    x = x.astype(kind)
    if case.params.get("include_initial"):
        shape = list(x.shape)
        shape[axis] = 1
        x = np.concatenate([np.zeros(shape, kind), x], axis)
    sums = np.cumsum(x, axis, kind)
    if kind is np.int64:
        return cast(sums, "int64", name)
    return Exact(sums, np.cumsum(np.abs(x), axis), max(x.shape[axis], 1))


def cumprod(case):
    x, axis = case.inputs[0], case.params["axis"]
    kind = wide(case.output["dtype"])
    if kind is None:
        return np.cumprod(x.astype(np.int64), axis, np.int64)
    products = np.cumprod(x.astype(kind), axis)
    return Exact(products, np.abs(products), max(x.shape[axis], 1))


JUDGES = {"cumulative_sum": cumulative_sum, "cumsum": cumulative_sum, "cumprod": cumprod}

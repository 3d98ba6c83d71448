"""Tensors made by a rule."""

import numpy as np

from case import Exact
from formats import INTEGERS, cast


def arange(case):
    start, stop, step = (case.params[name] for name in ("start", "stop", "step"))
    name = case.output["dtype"]
    if all(isinstance(x, int) for x in (start, stop, step)):
        values = np.array(range(start, stop, step), dtype=np.int64)
        return values.astype(INTEGERS[name]) if name in INTEGERS else cast(values.astype(np.float64), "float64", name)
    count = max(int(np.ceil((stop - start) / step)), 0)
    return start + np.arange(count, dtype=np.float64) * step


def linspace(case):
    start, stop, count = (case.params[name] for name in ("start", "stop", "count"))
    steps = count - 1 if case.params["endpoint"] else count
    step = (stop - start) / steps if steps > 0 else 0.0
    values = start + np.arange(count, dtype=np.float64) * step
    if case.params["endpoint"] and count > 1:
        values[-1] = stop
    return values


def meshgrid(case):
    return np.meshgrid(*case.inputs, indexing=case.params["indexing"])[case.number]


JUDGES = {
    "arange": arange,
    "linspace": linspace,
    "eye": lambda case: np.eye(case.params["rows"], case.params["columns"], case.params["offset"]),
    "tril": lambda case: np.tril(case.inputs[0], case.params["offset"]),
    "triu": lambda case: np.triu(case.inputs[0], case.params["offset"]),
    "meshgrid": meshgrid,
    "full_like": lambda case: np.full(case.inputs[0].shape, float(case.params["value"])),
    "empty_like": lambda case: Exact(np.zeros(case.inputs[0].shape), free=np.ones(case.inputs[0].shape, bool)),
}

"""Distinct elements."""

import numpy as np


def unique(case):
    """Every part by its name; with a stated size, cut or filled to it."""
    x = case.inputs[0]
    values, indices, inverse, counts = np.unique(x, True, True, True, equal_nan=False)
    found = {"values": values, "indices": indices, "inverse": inverse.reshape(x.shape), "counts": counts}
    found["count"] = np.asarray(values.size)
    if "size" in case.params:
        size = case.params["size"]
        for name, fill in (("values", case.params["fill"]), ("indices", -1), ("counts", 0)):
            missing = max(size - values.size, 0)
            found[name] = np.concatenate([found[name][:size], np.full(missing, fill, found[name].dtype)])
    return found


def parts(*names):
    return lambda case: unique(case)[names[case.number]]


JUDGES = {
    "unique_values": parts("values", "count"),
    "unique_counts": parts("values", "counts", "count"),
    "unique_inverse": parts("values", "inverse", "count"),
    "unique_all": parts("values", "indices", "inverse", "counts", "count"),
}

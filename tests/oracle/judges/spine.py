"""Arithmetic, matrix products, casts, choices and views: what every program needs."""

import numpy as np

from case import Exact
from formats import cast, wide


def promoted(case, first=0):
    """The inputs, brought to the dtype of the output as ops bring them."""
    name = case.output["dtype"]
    return [cast(x, s["dtype"], name) if s["dtype"] != name else x for x, s in zip(case.inputs[first:], case.specs[first:])]


def add(case):
    a, b = promoted(case)
    return a + b


def exp(case):
    return np.exp(case.inputs[0].astype(wide(case.output["dtype"])))


def relu(case):
    x = case.inputs[0]
    return np.where(x < 0, np.zeros_like(x), x)


def where(case):
    a, b = promoted(case, 1)
    return np.where(case.inputs[0], a, b)


def cast_to(case):
    return cast(case.inputs[0], case.specs[0]["dtype"], case.output["dtype"])


def matmul(case):
    a, b = promoted(case)
    kind = wide(case.output["dtype"])
    if kind is None:
        return np.matmul(a, b)
    a, b = a.astype(kind), b.astype(kind)
    return Exact(np.matmul(a, b), np.matmul(np.abs(a), np.abs(b)), max(a.shape[-1], 1))


def add_n(case):
    kind = wide(case.output["dtype"])
    if kind is None:
        total = case.inputs[0]
        for x in case.inputs[1:]:
            total = total + x
        return total
    return Exact(sum(x.astype(kind) for x in case.inputs), sum(np.abs(x).astype(kind) for x in case.inputs), len(case.inputs))


def take(case):
    return np.take(case.inputs[0], case.inputs[1], case.params["axis"])


JUDGES = {
    "add": add,
    "exp": exp,
    "relu": relu,
    "where": where,
    "cast": cast_to,
    "matmul": matmul,
    "add_n": add_n,
    "take": take,
    "nonzero": lambda case: np.argwhere(case.inputs[0]),
    "same": lambda case: case.inputs[0],
}

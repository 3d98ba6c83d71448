"""Reductions over axes."""

import numpy as np

import tolerances
from case import Exact
from formats import EPSILON, cast, wide


def axes_of(case):
    axes = case.params.get("axes")
    return None if axes is None else tuple(axes)


def keep_of(case):
    return case.params.get("keepdims", False)


def over(case, function, x):
    """A function of NumPy over the axes of the case."""
    return np.asarray(function(x, axis=axes_of(case), keepdims=keep_of(case)))


def terms(x, result):
    """How many elements go into each result."""
    return max(x.size // max(result.size, 1), 1)


def as_asked(case):
    """The elements, brought to the dtype that was asked for, if any."""
    asked = case.params.get("dtype")
    x = case.inputs[0]
    return x if asked is None else cast(x, case.specs[0]["dtype"], asked)


def sum_over(case):
    x = as_asked(case)
    kind = wide(case.output["dtype"])
    if kind is None:
        return np.sum(x, axes_of(case), np.int64, keepdims=keep_of(case))
    x = x.astype(kind)
    total = over(case, np.sum, x)
    return Exact(total, over(case, np.sum, np.abs(x)), terms(x, total))


def prod(case):
    x = as_asked(case)
    kind = wide(case.output["dtype"])
    if kind is None:
        return np.prod(x, axes_of(case), np.int64, keepdims=keep_of(case))
    result = over(case, np.prod, x.astype(kind))
    return Exact(result, np.abs(result), terms(x, result))


def mean(case):
    x = case.inputs[0].astype(wide(case.output["dtype"]))
    total = over(case, np.sum, x)
    n = terms(x, total) if x.size else 0
    return Exact(total / n, over(case, np.sum, np.abs(x)) / n, max(n, 1))


def computed_epsilon(case):
    return EPSILON["float64" if case.output["dtype"] == "float64" else "float32"]


def var(case):
    """The errors of the means that are merged count too: see tolerances."""
    x = case.inputs[0].astype(wide(case.output["dtype"]))
    total = np.sum(x, axes_of(case), keepdims=True)
    squares = over(case, np.sum, np.square(x - total / terms(x, total)))
    if x.size == 0:
        return Exact(squares / np.zeros_like(squares))
    raw = over(case, np.sum, np.square(x))
    n = np.maximum(terms(x, squares) - case.params["correction"], 0)
    rounding = tolerances.ROUNDINGS["var"](terms(x, squares)) * computed_epsilon(case)
    return Exact(squares / n, (squares + np.sqrt(squares * raw) + rounding * raw) / n, terms(x, squares))


def std(case):
    """|sqrt(a) - sqrt(b)| is at most |a - b| / sqrt(a), and at most sqrt(|a - b|)."""
    of_var = var(case)
    value = np.sqrt(of_var.value)
    if of_var.magnitude is None:
        return Exact(value)
    rounding = tolerances.ROUNDINGS["var"](of_var.terms) * computed_epsilon(case)
    largest = np.maximum(value, np.sqrt(rounding * of_var.magnitude))
    magnitude = np.where(largest > 0, of_var.magnitude / np.where(largest > 0, largest, 1), 0)
    return Exact(value, magnitude + value, of_var.terms)


def logsumexp(case):
    x = case.inputs[0].astype(wide(case.output["dtype"]))
    if x.size == 0:
        return np.full_like(over(case, np.sum, x), -np.inf)
    largest = np.max(x, axes_of(case), keepdims=True)
    shift = np.where(np.isfinite(largest), largest, 0)
    logarithm = np.log(over(case, np.sum, np.exp(x - shift)))
    shift = shift.reshape(logarithm.shape)
    return Exact(logarithm + shift, 1 + np.abs(shift) + np.abs(logarithm), terms(x, logarithm))


def vector_norm(case):
    order = float(case.params["ord"])
    x = np.abs(case.inputs[0].astype(wide(case.output["dtype"])))
    if order == 0:
        return over(case, np.sum, (x != 0).astype(np.int64))
    if np.isinf(order):
        return over(case, np.max if order > 0 else np.min, x)
    total = over(case, np.sum, x**order)
    value = total ** (1 / order)
    amplified = 1 if order in (1, 2) else max(1, 1 / abs(order)) * (1 + np.abs(np.log(total)))
    return Exact(value, np.where(np.isfinite(value), value * amplified, 0), terms(x, total))


def argument(function):
    def judge(case):
        x, axis = case.inputs[0], case.params["axis"]
        return np.asarray(function(x, axis=axis, keepdims=keep_of(case)) if axis is not None else function(x))

    return judge


JUDGES = {
    "sum": sum_over,
    "prod": prod,
    "max": lambda case: over(case, np.max, case.inputs[0]),
    "min": lambda case: over(case, np.min, case.inputs[0]),
    "mean": mean,
    "var": var,
    "std": std,
    "all": lambda case: over(case, np.all, case.inputs[0]),
    "any": lambda case: over(case, np.any, case.inputs[0]),
    "count_nonzero": lambda case: over(case, np.count_nonzero, case.inputs[0]),
    "argmax": argument(np.argmax),
    "argmin": argument(np.argmin),
    "logsumexp": logsumexp,
    "vector_norm": vector_norm,
}

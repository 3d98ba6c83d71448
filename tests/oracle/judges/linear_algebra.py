"""Products beyond matmul, and decompositions worked out in long double; bounds that know how well conditioned a matrix is."""

import numpy as np

from case import Exact
from formats import wide
from spine import promoted


def in_wide(case):
    kind = wide(case.output["dtype"])
    return [x if kind is None else x.astype(kind) for x in promoted(case)]


def summed(case, function, terms):
    """A sum of products: function(inputs), with what it adds up."""
    inputs = in_wide(case)
    if wide(case.output["dtype"]) is None:
        return function(*inputs)
    return Exact(function(*inputs), function(*[np.abs(x) for x in inputs]), max(terms, 1))


def einsum(case):
    equation = case.params["equation"]
    sizes = {}
    for term, x in zip(equation.split("->")[0].split(","), case.inputs):
        letters = term.replace("...", "")
        first, _, last = term.partition("...")
        shape = x.shape[: len(first)] + x.shape[x.ndim - len(last) :] if "..." in term else x.shape
        for letter, size in zip(letters, shape):
            sizes[letter] = max(size, sizes.get(letter, 1))
    terms = int(np.prod([float(size) for size in sizes.values()]))
    if case.output["dtype"] == "bool":
        return np.einsum(equation, *[x.astype(np.int64) for x in promoted(case)]) != 0
    return summed(case, lambda *inputs: np.einsum(equation, *inputs), terms)


def tensordot(case):
    axes = case.params["axes"]
    a, b = case.inputs
    summed_axes = range(a.ndim - axes, a.ndim) if isinstance(axes, int) else axes[0]
    terms = int(np.prod([a.shape[i] for i in summed_axes]))
    if case.output["dtype"] == "bool":
        return np.tensordot(*[x.astype(np.int64) for x in promoted(case)], axes) != 0
    return summed(case, lambda a, b: np.tensordot(a, b, axes), terms)


def vecdot(case):
    axis = case.params["axis"]

    def function(a, b):
        a, b = np.broadcast_arrays(a, b)
        return np.sum(a * b, axis, dtype=a.dtype)

    if case.output["dtype"] == "bool":
        return function(*[x.astype(np.int64) for x in promoted(case)]) != 0
    return summed(case, function, case.inputs[0].shape[axis])


def trace(case):
    x = np.diagonal(case.inputs[0], case.params["offset"], -2, -1)
    if wide(case.output["dtype"]) is None:
        return np.sum(x, -1, np.int64)
    x = x.astype(wide(case.output["dtype"]))
    return Exact(np.sum(x, -1), np.sum(np.abs(x), -1), max(x.shape[-1], 1))


# Decompositions. All below works on one matrix of long doubles.


def lu(a):
    """The factors in one matrix, the order of the rows, and the sign of that order."""
    a, n, sign = a.copy(), len(a), 1
    order = np.arange(n)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(a[k:, k])))
        if pivot != k:
            a[[k, pivot]], order[[k, pivot]], sign = a[[pivot, k]], order[[pivot, k]], -sign
        if a[k, k] != 0:
            a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, order, sign


def solved(a, b):
    factors, order, _ = lu(a)
    x = b[order].copy()
    for k in range(len(a)):
        x[k + 1 :] -= np.outer(factors[k + 1 :, k], x[k])
    for k in reversed(range(len(a))):
        x[k] /= factors[k, k]
        x[:k] -= np.outer(factors[:k, k], x[k])
    return x


def norm(a):
    return np.max(np.sum(np.abs(a), -1)) if a.size else np.longdouble(0)


def condition(a):
    return norm(a) * norm(solved(a, np.eye(len(a), dtype=a.dtype)))


def for_each_matrix(function, *inputs):
    """The results of function over a batch, stacked: a tuple of arrays for each."""
    lead = np.broadcast_shapes(*[x.shape[:-2] for x in inputs])
    inputs = [np.broadcast_to(x, lead + x.shape[-2:]).astype(np.longdouble) for x in inputs]
    results = [function(*[x[at] for x in inputs]) for at in np.ndindex(*lead)]
    if not results:
        results = [function(*[np.eye(*x.shape[-2:], dtype=np.longdouble) for x in inputs])]
        return [np.zeros(lead + r.shape) for r in results[0]]
    return [np.stack(r).reshape(lead + np.shape(r[0])) for r in zip(*results)]


def solve_with_bound(a, b):
    x = solved(a, b)
    return x, np.full(x.shape, condition(a) * (np.max(np.abs(x)) if x.size else 0))


def solve(case):
    a, b = case.inputs
    is_vector = b.ndim == 1
    value, magnitude = for_each_matrix(solve_with_bound, a, b[:, None] if is_vector else b)
    if is_vector:
        value, magnitude = value[..., 0], magnitude[..., 0]
    return Exact(value, magnitude, a.shape[-1])


def inv(case):
    (a,) = case.inputs
    value, magnitude = for_each_matrix(lambda a: solve_with_bound(a, np.eye(len(a), dtype=a.dtype)), a)
    return Exact(value, magnitude, a.shape[-1])


def determinant(a):
    factors, _, sign = lu(a)
    value = np.asarray(sign * np.prod(np.diagonal(factors)))
    is_singular = value == 0
    logarithms = np.log(np.abs(np.diagonal(factors)))
    magnitude = np.longdouble(0) if is_singular else condition(a)
    return value, np.abs(value) * magnitude, np.sign(value), np.sum(logarithms), magnitude + np.sum(np.abs(logarithms))


def det(case):
    value, magnitude, *_ = for_each_matrix(determinant, case.inputs[0])
    return Exact(value, magnitude, case.inputs[0].shape[-1])


def slogdet(case):
    _, _, sign, logarithm, magnitude = for_each_matrix(determinant, case.inputs[0])
    return sign if case.number == 0 else Exact(logarithm, magnitude, case.inputs[0].shape[-1])


def cholesky_factor(a):
    n, low = len(a), np.zeros_like(a)
    for k in range(n):
        low[k, k] = np.sqrt(a[k, k] - low[k, :k] @ low[k, :k])
        low[k + 1 :, k] = (a[k + 1 :, k] - low[k + 1 :, :k] @ low[k, :k]) / low[k, k]
    return low, np.full(a.shape, condition(a) * norm(low))


def cholesky(case):
    (a,) = case.inputs
    upper = case.params["upper"]
    half = np.swapaxes(np.triu(a), -1, -2) if upper else np.tril(a)
    whole = half + np.swapaxes(np.tril(half, -1), -1, -2)
    value, magnitude = for_each_matrix(cholesky_factor, whole)
    return Exact(np.swapaxes(value, -1, -2) if upper else value, magnitude, a.shape[-1])


def cholesky_ex(case):
    return cholesky(case) if case.number == 0 else np.zeros(case.inputs[0].shape[:-2], np.int32)


def householder(a, is_complete):
    m, n = a.shape
    least = min(m, n)
    r, q = a.copy(), np.eye(m, dtype=a.dtype)
    for k in range(least):
        below = r[k + 1 :, k]
        if below.size == 0 or not below.any():
            continue
        beta = -np.copysign(np.sqrt(np.sum(r[k:, k] ** 2)), r[k, k])
        v = r[k:, k].copy()
        v[0] -= beta
        scale = 2 / np.sum(v * v)
        r[k:] -= np.outer(v, scale * (v @ r[k:]))
        q[:, k:] -= np.outer(q[:, k:] @ v, scale * v)
    inner = m if is_complete else least
    square = a[:least, :least] if m <= n else a.T @ a
    root = condition(square) if m <= n else np.sqrt(condition(square))  # of a itself, where that is not square
    root = root * np.sqrt(np.longdouble(max(least, 1)))
    return (
        q[:, :inner],
        np.full((m, inner), root),
        np.triu(r)[:inner],
        np.full((inner, n), root * np.sqrt(np.sum(a * a))),
    )


def qr(case):
    (a,) = case.inputs
    parts = for_each_matrix(lambda a: householder(a, case.params["complete"]), a)
    return Exact(parts[2 * case.number], parts[2 * case.number + 1], a.shape[-2] * a.shape[-1])


JUDGES = {
    "einsum": einsum,
    "tensordot": tensordot,
    "vecdot": vecdot,
    "outer": lambda case: np.multiply.outer(*promoted(case)),
    "trace": trace,
    "solve": solve,
    "inv": inv,
    "det": det,
    "slogdet": slogdet,
    "cholesky": cholesky,
    "cholesky_ex": cholesky_ex,
    "qr": qr,
}

"""How far a result may lie from the exact one: for every op that is not exact, on every backend.

ULPS[op]: ulps of the result, by dtype; a number stands for all dtypes. Half precision is worked out in float32 and rounded
once at the end, which can only go to a neighbour: 1, wherever the float32 result is within a few ulps.

ROUNDINGS[op](n): for results that are sums: how many roundings of the dtype computed in may add up, relative to the sum of
the magnitudes that were added, for n terms. Half precision is rounded once more at the end.

Ops that are in neither table are exact: they round once, as NumPy does, or not at all.
"""

import numpy as np

HALVES = {"float16": 1, "bfloat16": 1}

ULPS = {
    # The series is good to 1 ulp with a fused multiply-add and to 2 without.
    "exp": {**HALVES, "float32": 2, "float64": 2},
    # Results below: rounded once to half precision, which may be a subnormal one.
    "cumulative_sum": HALVES,
    "cumsum": HALVES,
    "cumprod": HALVES,
    "softmax": HALVES,
    "log_softmax": HALVES,
    "layer_norm": HALVES,
    "linear": HALVES,
    "avg_pool2d": HALVES,
    # The larger of what the CUDA library states for its functions and what the CPU's vectors give: 1 for float32, which is
    # worked on as float64; for float64 the error of the series plus a rounding for each step that does not cancel.
    # The larger of what the CUDA library states for its functions and what the CPU's vectors give: 1 for float32, most of which
    # is worked on as float64; else the error of the series (under 1) plus half an ulp for each step that does not cancel.
    "expm1": {**HALVES, "float32": 1, "float64": 2},
    "log": {**HALVES, "float32": 2, "float64": 2},
    "log1p": {**HALVES, "float32": 2, "float64": 3},
    "log2": {**HALVES, "float32": 2, "float64": 3},
    "log10": {**HALVES, "float32": 2, "float64": 3},
    "sin": {**HALVES, "float32": 2, "float64": 2},
    "cos": {**HALVES, "float32": 2, "float64": 2},
    "tan": {**HALVES, "float32": 4, "float64": 4},
    "asin": {**HALVES, "float32": 2, "float64": 3},
    "acos": {**HALVES, "float32": 2, "float64": 3},
    "atan": {**HALVES, "float32": 2, "float64": 3},
    "atan2": {**HALVES, "float32": 3, "float64": 4},
    "hypot": {**HALVES, "float32": 3, "float64": 2},
    "sinh": {**HALVES, "float32": 3, "float64": 4},
    "cosh": {**HALVES, "float32": 2, "float64": 3},
    "tanh": {**HALVES, "float32": 2, "float64": 4},
    "asinh": {**HALVES, "float32": 3, "float64": 4},
    "acosh": {**HALVES, "float32": 4, "float64": 4},
    "atanh": {**HALVES, "float32": 3, "float64": 4},
    "erf": {**HALVES, "float32": 2, "float64": 2},
    "pow": {**HALVES, "float32": 4, "float64": 2},
    # e^-|x| is off by 2 ulps, which a quotient can double; the sum and the quotient round once each.
    "sigmoid": {**HALVES, "float32": 5, "float64": 5},
    # One rounding more, for the product.
    "silu": {**HALVES, "float32": 6, "float64": 6},
}


def summed(n):
    """Pairwise: one rounding per level, plus those inside a leaf of 4096 elements at most, in eight running sums or more: no more
    than 512 additions in a row on any instruction set, and the running sums are joined in at most 6 steps."""
    return np.log2(max(n, 2)) + min(n, 512) + 6


ROUNDINGS = {
    # Elements that repeat themselves are added up once and multiplied: one rounding in place of a level, or two (the factor's) in
    # place of 24.
    "sum": summed,
    # One rounding per product, in any order.
    "prod": lambda n: n,
    # The sum, a rounded number of elements, and the division.
    "mean": lambda n: summed(n) + 2,
    # Relative to S + sqrt(S R) + (the rounding) R, with S the squared distances from the mean and R the squares themselves:
    # S has the roundings of a sum and 4 per term; each of the log2(n) merges adds d^2 m for means d apart, whose errors e are
    # those of a sum relative to the root of R / n: 2 d e m over all merges is at most 2 sqrt(S R) times that, and e^2 m the rest.
    "var": lambda n: 2 * (summed(n) + 4),
    # Half of that, and the root.
    "std": lambda n: 2 * (summed(n) + 5),
    # Relative to 1 + |largest| + |log of the sum|: the roundings of a sum, 2 ulps (4 roundings) per exponential of the terms and
    # of the 2 that scale each merge, less than 1 for each difference d they are taken of (d e^-d), and 4 at the end.
    "logsumexp": lambda n: 6 * np.log2(max(n, 2)) + min(n, 512) + 16,
    # The sum of squares, magnitudes or powers (4 ulps each), and 4 ulps of the root. Roots of other orders enlarge what the sum's
    # logarithm or a small order makes of it, which the judge puts into the magnitude. Where elements repeat themselves, the norm of
    # one is multiplied: a rounded factor and a product more.
    "vector_norm": lambda n: summed(n) + 20,
    # k products, each rounded at most once, and k - 1 additions in any order.
    "matmul": lambda n: 2 * n,
    # One rounding per addition.
    "add_n": lambda n: n,
    # Within a tile at most 8 elements a thread, 5 steps in a warp, 8 warps and the tile's start: 22 additions; the CPU's groups
    # are smaller. From group to group float64 is carried, in float64 itself with a rounding for every four elements.
    "cumulative_sum": lambda n: 24 + n / 4,
    "cumsum": lambda n: 24 + n / 4,
    # One rounding per factor, in any order, and one at the end.
    "cumprod": lambda n: n + 1,
    # e^x to 2 ulps (4 halves of one) above and below the line; its sum in chains of at most 32 before float64, joined in 6
    # steps; a reciprocal and a product. What rounding x - max does to e^(x - max) is in the magnitude.
    "softmax": lambda n: 48,
    # The same sum; two subtractions and a logarithm.
    "log_softmax": lambda n: 48,
    # The mean: 38 as above and a division. The variance: the same and two for each square, halved by the root. Then a
    # difference and two products and a sum.
    "layer_norm": lambda n: 64,
    # A log_softmax, and the sum of n of them as for "sum".
    "cross_entropy": lambda n: 70 + np.log2(max(n, 2)),
    # One rounding per addition and the division.
    "avg_pool2d": lambda n: n + 1,
    # A matrix product, and one addition.
    "conv2d": lambda n: 2 * n + 1,
    "linear": lambda n: 2 * n + 1,
    # ln u: 2.7, halved by the square root, which adds 1; sine or cosine: 3 with the rounding of the angle; their product: 1.
    # Then the mean and the deviation themselves, the product and the sum: 4.
    "normal": lambda n: 11,
    "trace": summed,
    # As matmul; einsum may do it in up to four steps, each with roundings of its own.
    "vecdot": lambda n: 2 * n,
    "tensordot": lambda n: 2 * n,
    "einsum": lambda n: 2 * n + 8,
    # Elimination solves (a + e) x = b with |e| <= 3 n eps |l| |u|, and |l| |u| is at most 2 n |a| for matrices whose columns
    # their diagonals dominate, in any order of the rows (Higham, Accuracy and Stability, 9.3 and 9.5). The magnitude
    # has the condition number.
    "solve": lambda n: 6 * n * n,
    "inv": lambda n: 6 * n * n,
    # A determinant moves, relatively, by n times what its inverse makes of e; then n multiplications, or logarithms.
    "det": lambda n: 2 * n**3 + n,
    "slogdet": lambda n: 2 * n**3 + 3 * n,
    # |e| <= (n + 1) eps |l| |l|^T, whose norm is at most n |a| (Higham 10.3); the factor moves by 2^-1/2 cond |e| / |a|.
    "cholesky": lambda n: n * (n + 1) + n,
    "cholesky_ex": lambda n: n * (n + 1) + n,
    # Householder: |e| <= c m n eps |a| with a small c (Higham 19.4, c = 6 covers the forming of q too); q moves by sqrt(2) cond
    # times that and r by 1 + sqrt(2) cond.
    "qr": lambda n: 15 * n,
    # In halves of an ulp: 4 for e^-d, 4 for log1p, 1 for the distance d (whose rounding moves the result by d e^-d at most),
    # 1 for the sum.
    "logaddexp": lambda n: 10,
    # The error function 4, its argument 2, the sum 1.
    "gelu": lambda n: 7,
    # tanh 8, its argument 6, the sum 1.
    "gelu_by_tanh": lambda n: 15,
    # One rounding of float32 per value that meets a place; only half precision is judged so, the others are exact.
    "at": lambda n: n,
    "scatter": lambda n: n,
}


def ulps(op, dtype):
    found = ULPS.get(op, 0)
    return found.get(dtype, 0) if isinstance(found, dict) else found

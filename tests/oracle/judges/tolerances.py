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

ROUNDINGS = {
    # Pairwise: one rounding per level, plus those inside a leaf, where no lane adds more than 16 of its elements and the
    # lanes are joined in at most 6 steps.
    "sum": lambda n: np.log2(max(n, 2)) + 22,
    # k products, each rounded at most once, and k - 1 additions in any order.
    "matmul": lambda n: 2 * n,
    # One rounding per addition.
    "add_n": lambda n: n,
    # In halves of an ulp: 4 for e^-d, 4 for log1p, 1 for the distance d (whose rounding moves the result by d e^-d at most),
    # 1 for the sum.
    "logaddexp": lambda n: 10,
    # The error function 4, its argument 2, the sum 1.
    "gelu": lambda n: 7,
    # tanh 8, its argument 6, the sum 1.
    "gelu_by_tanh": lambda n: 15,
}


def ulps(op, dtype):
    found = ULPS.get(op, 0)
    return found.get(dtype, 0) if isinstance(found, dict) else found

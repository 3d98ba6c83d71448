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
}

ROUNDINGS = {
    # Pairwise: one rounding per level, plus those inside a leaf, where no lane adds more than 16 of its elements and the
    # lanes are joined in at most 6 steps.
    "sum": lambda n: np.log2(max(n, 2)) + 22,
    # k products, each rounded at most once, and k - 1 additions in any order.
    "matmul": lambda n: 2 * n,
    # One rounding per addition.
    "add_n": lambda n: n,
    # One rounding of float32 per value that meets a place; only half precision is judged so, the others are exact.
    "at": lambda n: n,
    "scatter": lambda n: n,
}


def ulps(op, dtype):
    found = ULPS.get(op, 0)
    return found.get(dtype, 0) if isinstance(found, dict) else found

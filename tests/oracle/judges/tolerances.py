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
    "trace": lambda n: np.log2(max(n, 2)) + 22,  # as sum
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
    # Householder: |e| <= c m n eps |a| with a small c (Higham 19.4, c = 6 covers the forming of q too); q moves by sqrt(2) cond
    # times that and r by 1 + sqrt(2) cond.
    "qr": lambda n: 15 * n,
}


def ulps(op, dtype):
    found = ULPS.get(op, 0)
    return found.get(dtype, 0) if isinstance(found, dict) else found

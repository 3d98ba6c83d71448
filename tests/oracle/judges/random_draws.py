"""Random draws: Philox4x32-10 by key and counter, and what is made of its words."""

import numpy as np

from case import Exact
from formats import wide

U32 = np.uint64(0xFFFFFFFF)
SHIFT = np.uint64(32)


def blocks(key, counter, count):
    """The four words of blocks counter ... counter + count - 1, one row each."""
    number = np.arange(count, dtype=np.uint64) + np.uint64(counter)
    c0, c1 = number & U32, number >> SHIFT
    c2 = c3 = np.zeros_like(number)
    k0, k1 = np.uint64(key) & U32, np.uint64(key) >> SHIFT
    for _ in range(10):
        p0, p1 = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (p1 >> SHIFT) ^ c1 ^ k0, p1 & U32, (p0 >> SHIFT) ^ c3 ^ k1, p0 & U32
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & U32, (k1 + np.uint64(0xBB67AE85)) & U32
    return np.stack([c0, c1, c2, c3], 1)


def words(params, n, size):
    """n words of 32 bits or, for elements of 8 bytes, of 64."""
    per_block = 2 if size == 8 else 4
    rows = blocks(params["key"], params["counter"], -(-n // per_block))
    if size == 8:
        rows = rows[:, 1::2] << SHIFT | rows[:, 0::2]
    return rows.reshape(-1)[:n]


def shape_and_size(case):
    shape = tuple(case.output["shape"])
    return shape, int(np.prod(shape, dtype=np.int64))


def normal(case):
    (shape, n), name = shape_and_size(case), case.output["dtype"]
    bits, kind, computed = (64, np.longdouble, np.float64) if name == "float64" else (32, np.float64, np.float32)
    given = words(case.params, n + n % 4, bits // 8)  # whole pairs
    a, b = given[0::2], given[1::2]
    used = 53 if bits == 64 else 31
    # Rounded twice, as it is drawn: the integer to the dtype, then the sum.
    whole = (a >> np.uint64(bits - used if bits == 64 else 1)).astype(computed).astype(kind)
    unit = (whole * kind(2.0) ** -used + kind(2.0) ** -(used + 1)).astype(computed).astype(kind)
    radius = np.sqrt(-2 * np.log(unit))
    mask = np.uint64(2**bits - 1)
    quarter = ((b + np.uint64(2 ** (bits - 3))) & mask) >> np.uint64(bits - 2)
    left = (b - (quarter << np.uint64(bits - 2))) & mask
    left = left.astype(np.int64) if bits == 64 else left.astype(np.uint32).astype(np.int32)
    angle = left.astype(kind) * (kind(4) * np.arctan(kind(1)) * 2 / kind(2.0) ** bits)
    cosine, sine = np.cos(angle), np.sin(angle)
    turned = [(cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine)]
    z = np.empty(2 * len(a), kind)
    z[0::2] = radius * np.choose(quarter.astype(np.int64), [c for c, _ in turned])
    z[1::2] = radius * np.choose(quarter.astype(np.int64), [s for _, s in turned])
    scaled, mean = z[:n].reshape(shape) * kind(case.params["stddev"]), kind(case.params["mean"])
    return Exact((scaled + mean).astype(wide(name)), np.abs(scaled) + np.abs(mean), 2)


def randint(case):
    shape, n = shape_and_size(case)
    low, span = case.params["low"], case.params["high"] - case.params["low"]
    size = 8 if case.output["dtype"] == "int64" else 4
    drawn = words(case.params, n, size)
    if size == 8:
        return np.array([low + (int(w) * span >> 64) for w in drawn], np.int64).reshape(shape)
    return (low + ((drawn * np.uint64(span)) >> SHIFT).astype(np.int64)).reshape(shape)


def bernoulli(case):
    shape, n = shape_and_size(case)
    threshold = np.uint64(round(case.params["p"] * 2**32))
    return (words(case.params, n, 4) < threshold).astype(np.float64).reshape(shape)


def permutation(case):
    n = case.inputs[0].shape[0] if case.inputs else case.params["n"]
    order = np.argsort(words(case.params, n, 8).view(np.int64), kind="stable")
    return case.inputs[0][order] if case.inputs else order


JUDGES = {"normal": normal, "randint": randint, "bernoulli": bernoulli, "permutation": permutation}

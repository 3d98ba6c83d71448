"""Element-wise ops. Those that round once are judged in the dtype they are computed in, the others by wider numbers."""

import numpy as np

from case import Exact
from formats import COMPUTED, EPSILON, INTEGERS, cast, wide

FLOATS = ("float16", "bfloat16", "float32", "float64")
PI = np.longdouble("3.14159265358979323846264338327950288")


def common(names):
    """The dtype that ops bring their inputs to."""
    names = list(dict.fromkeys(names))
    if len(names) == 1:
        return names[0]
    floats = [name for name in names if name in FLOATS]
    if floats:
        if len(floats) == 1:
            return floats[0]
        return "float64" if "float64" in floats else "float32"
    integers = [name for name in names if name in INTEGERS]
    if len(integers) == 1:
        return integers[0]
    return "int16" if set(integers) == {"uint8", "int8"} else max(integers, key=lambda name: np.dtype(INTEGERS[name]).itemsize)


def promoted(case):
    name = common(spec["dtype"] for spec in case.specs)
    return [cast(x, s["dtype"], name) if s["dtype"] != name else x for x, s in zip(case.inputs, case.specs)]


def computed(function):
    """In the dtype the op computes in."""
    return lambda case: np.asarray(function(*promoted(case)))


def widened(function):
    """In a wider one."""

    def judge(case):
        kind = wide(case.output["dtype"])
        return function(*(x.astype(kind) for x in promoted(case)))

    return judge


def divided(function):
    """Integers are divided by 1 where the divisor would be 0: so does the test."""

    def judge(case):
        a, b = promoted(case)
        if case.output["dtype"] in INTEGERS:
            b = np.where(b == 0, b.dtype.type(1), b)
        return function(a, b)

    return judge


def power(case):
    a, b = promoted(case)
    kind = wide(case.output["dtype"])
    return np.power(a, b & 7) if kind is None else np.power(a.astype(kind), b.astype(kind))


def sign(x):
    one = x.dtype.type(1)
    return np.where(x > 0, one, np.where(x < 0, np.negative(one), x))


def absolute(x):
    return np.abs(x) if x.dtype != np.bool_ else x


def rounded(function):
    """Integers are whole already."""
    return computed(lambda x: function(x) if x.dtype.kind == "f" else x)


def clip(case):
    x, *bounds = promoted(case)
    low = bounds.pop(0) if case.params["min"] else None
    high = bounds.pop(0) if case.params["max"] else None
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def isclose(case):
    """As the op computes it: halves as float32, what is not floating as float64."""
    name = common(spec["dtype"] for spec in case.specs)
    name = "float64" if name == "float64" or name not in FLOATS else "float32"
    a, b = (cast(x, spec["dtype"], name) for x, spec in zip(case.inputs, case.specs))
    rtol, atol = (np.dtype(name).type(case.params[word]) for word in ("rtol", "atol"))
    close = (np.abs(a - b) <= rtol * np.abs(b) + atol) & np.isfinite(b) | (a == b)
    return close | np.isnan(a) & np.isnan(b) if case.params["equal_nan"] else close


def logaddexp(case):
    kind = wide(case.output["dtype"])
    a, b = (x.astype(kind) for x in promoted(case))
    exact = np.logaddexp(a, b)
    larger = np.maximum(a, b)
    rest = np.log1p(np.exp(-np.abs(np.where(a == b, 0, a - b))))
    return Exact(exact, np.where(np.isfinite(exact), np.abs(larger) + rest, 0), 1)


def erf(x):
    """Below 2 by a series of positive terms, above by the continued fraction of what is left to 1."""
    x = np.asarray(x, np.longdouble)
    size = np.minimum(np.abs(x), 30)
    small, large = np.minimum(size, 2), np.maximum(size, 2)
    term = total = small
    for n in range(1, 80):
        term = term * 2 * small * small / (2 * n + 1)
        total = total + term
    near = 2 / np.sqrt(PI) * np.exp(-small * small) * total
    fraction = np.zeros_like(large)
    for k in range(200, 0, -1):
        fraction = (np.longdouble(k) / 2) / (large + fraction)
    far = 1 - np.exp(-large * large) / (large + fraction) / np.sqrt(PI)
    return np.where(np.isnan(x), x, np.copysign(np.where(size < 2, near, far), x))


def halved(case, share):
    """x / 2 + x / 2 times a share between -1 and 1; nothing is left of minus infinity."""
    x = case.inputs[0].astype(np.longdouble)
    finite = np.maximum(x, -1e30)
    exact = np.where(np.isnan(x), x, finite / 2 + finite / 2 * share(x))
    return Exact(exact, np.where(np.isfinite(exact), np.abs(finite), 0), 1)


def gelu(case):
    return halved(case, lambda x: erf(x / np.sqrt(np.longdouble(2))))


def gelu_by_tanh(case):
    return halved(case, lambda x: np.tanh(np.sqrt(2 / PI) * (x + np.longdouble(0.044715) * x * x * x)))


def sigmoid(x):
    small = np.exp(-np.abs(x))
    return np.where(np.signbit(x), small, 1) / (1 + small)


def silu(case):
    """Below the smallest normal number, e^-|x| has lost the digits that the product would need."""
    x = case.inputs[0].astype(wide(case.output["dtype"]))
    exact = np.where(x == -np.inf, 0, x * sigmoid(x))
    tiny = np.finfo(COMPUTED[case.output["dtype"]]).tiny
    return Exact(exact, free=np.abs(exact) < np.abs(x) * tiny * 2)


JUDGES = {
    "subtract": computed(np.subtract),
    "multiply": computed(np.multiply),
    "divide": computed(np.divide),
    "floor_divide": divided(np.floor_divide),
    "remainder": divided(np.remainder),
    "pow": power,
    "maximum": computed(np.maximum),
    "minimum": computed(np.minimum),
    "clip": clip,
    "abs": computed(absolute),
    "negative": computed(np.negative),
    "positive": computed(np.positive),
    "sign": computed(sign),
    "square": computed(lambda x: x * x),
    "sqrt": computed(np.sqrt),
    "copysign": computed(np.copysign),
    "floor": rounded(np.floor),
    "ceil": rounded(np.ceil),
    "trunc": rounded(np.trunc),
    "round": rounded(np.rint),
    "equal": computed(np.equal),
    "not_equal": computed(np.not_equal),
    "less": computed(np.less),
    "less_equal": computed(np.less_equal),
    "greater": computed(np.greater),
    "greater_equal": computed(np.greater_equal),
    "isnan": computed(np.isnan),
    "isinf": computed(np.isinf),
    "isfinite": computed(np.isfinite),
    "signbit": computed(np.signbit),
    "isclose": isclose,
    "allclose": lambda case: np.all(isclose(case)),
    "logical_and": computed(np.logical_and),
    "logical_or": computed(np.logical_or),
    "logical_xor": computed(np.logical_xor),
    "logical_not": computed(np.logical_not),
    "bitwise_and": computed(np.bitwise_and),
    "bitwise_or": computed(np.bitwise_or),
    "bitwise_xor": computed(np.bitwise_xor),
    "bitwise_invert": computed(np.invert),
    "bitwise_left_shift": computed(np.left_shift),
    "bitwise_right_shift": computed(np.right_shift),
    "logaddexp": logaddexp,
    "atan2": widened(np.arctan2),
    "hypot": widened(np.hypot),
    "erf": widened(erf),
    "sigmoid": widened(sigmoid),
    "silu": silu,
    "gelu": gelu,
    "gelu_by_tanh": gelu_by_tanh,
    "expm1": widened(np.expm1),
    "log": widened(np.log),
    "log1p": widened(np.log1p),
    "log2": widened(np.log2),
    "log10": widened(np.log10),
    "sin": widened(np.sin),
    "cos": widened(np.cos),
    "tan": widened(np.tan),
    "asin": widened(np.arcsin),
    "acos": widened(np.arccos),
    "atan": widened(np.arctan),
    "sinh": widened(np.sinh),
    "cosh": widened(np.cosh),
    "tanh": widened(np.tanh),
    "asinh": widened(np.arcsinh),
    "acosh": widened(np.arccosh),
    "atanh": widened(np.arctanh),
}

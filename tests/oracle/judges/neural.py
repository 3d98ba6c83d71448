"""Normalisations, losses, dropout, one-hot vectors, convolutions and pooling, in plain NumPy."""

import numpy as np

from case import Exact
from formats import COMPUTED, EPSILON, cast, wide

KEPT_IN = {"float16": np.float32, "bfloat16": np.float32, "float32": np.float32, "float64": np.float64}


def line_of(x, name, axis):
    """x - max, its exponentials' share of their sum, the sum's logarithm, and how far the line lies from its largest."""
    x = x.astype(wide(name))
    most = np.max(x, axis, keepdims=True, initial=-np.inf)
    apart = x - most
    powers = np.exp(apart)
    total = np.sum(powers, axis, keepdims=True)
    share = powers / total
    # Rounding x - max by half an ulp changes e^(x - max) by its size: small terms lie far, but weigh little.
    moved = np.where(share > 0, share * np.abs(apart), 0)
    return apart, share, np.log(total), moved, np.sum(moved, axis, keepdims=True)


def softmax(case):
    name = case.output["dtype"]
    _, share, _, moved, drift = line_of(case.inputs[0], name, case.params["axis"])
    return Exact(share, share * (1 + drift) + moved + np.finfo(KEPT_IN[name]).tiny, case.inputs[0].shape[case.params["axis"]])


def log_softmax(case):
    apart, _, log, _, drift = line_of(case.inputs[0], case.output["dtype"], case.params["axis"])
    return Exact(apart - log, np.abs(apart) + np.abs(log) + 1 + drift, case.inputs[0].shape[case.params["axis"]])


def layer_norm(case):
    params = case.params
    kind = wide(case.output["dtype"])
    x, *rest = [a.astype(kind) for a in case.inputs]
    weight = rest.pop(0) if params["weight"] else np.ones(1, kind)
    bias = rest.pop(0) if params["bias"] else np.zeros(1, kind)
    axes = tuple(range(x.ndim - params["axes"], x.ndim))
    mean = np.mean(x, axes, keepdims=True)
    factor = 1 / np.sqrt(np.mean((x - mean) ** 2, axes, keepdims=True) + kind(params["epsilon"]))
    size = np.abs(x) + np.mean(np.abs(x), axes, keepdims=True)
    return Exact((x - mean) * factor * weight + bias, size * factor * np.abs(weight) + np.abs(bias), 1)


def linear(case):
    kind = wide(case.output["dtype"])
    x, weight, bias = [a.astype(kind) for a in case.inputs]
    return Exact(x @ weight + bias, np.abs(x) @ np.abs(weight) + np.abs(bias), x.shape[-1])


def cross_entropy(case):
    logits, labels = case.inputs
    axis = 1 if logits.ndim > 1 else 0
    apart, _, log, _, drift = line_of(logits, case.output["dtype"], axis)
    ignore = case.params["ignore_index"]
    kept = np.ones(labels.shape, bool) if ignore is None else labels != ignore
    at = np.expand_dims(np.where(kept, labels, 0).astype(np.int64), axis)
    if logits.shape[axis] == 0:
        at, apart, drift = at * 0, np.zeros_like(log), np.zeros_like(log)
    pick = lambda x: np.take_along_axis(np.broadcast_to(x, apart.shape), at, axis).squeeze(axis)
    loss = np.where(kept, pick(log - apart), 0)
    size = np.where(kept, pick(np.abs(apart) + np.abs(log) + 1 + drift), 0)
    if case.params["reduction"] == "none":
        return Exact(loss, size, 1)
    if case.params["reduction"] == "sum":
        return Exact(np.sum(loss), np.sum(size), max(loss.size, 1))
    return Exact(np.sum(loss) / np.sum(kept), np.sum(size) / np.sum(kept), max(loss.size, 1))


def philox_words(key, counter, count):
    """Philox4x32-10, four words a block."""
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    blocks = np.arange((count + 3) // 4, dtype=np.uint64) + np.uint64(counter)
    c = [blocks & low, blocks >> half, np.zeros_like(blocks), np.zeros_like(blocks)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> half) ^ c[1] ^ np.uint64(k0), p1 & low, (p0 >> half) ^ c[3] ^ np.uint64(k1), p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, -1).reshape(-1)[:count]


def dropout(case):
    x, p = case.inputs[0], case.params["p"]
    kind = COMPUTED[case.output["dtype"]]
    words = philox_words(case.params["key"], case.params["counter"], x.size).reshape(x.shape)
    scale = kind(1 / (1 - p)) if p < 1 else kind(0)
    return np.where(words < np.uint64(round(p * 2**32)), kind(0), x.astype(kind) * scale)


def one_hot(case):
    indices, params = case.inputs[0], case.params
    at = np.arange(params["depth"]) == indices[..., None]
    return np.where(at, params["on"], params["off"])


def views_of(x, window, fill):
    """For each element of the window: x as that element sees it at every place, `fill` where it looks beyond x."""
    kernel, stride, padding, dilation, outputs = (window[k] for k in ("kernel", "stride", "padding", "dilation", "outputs"))
    reach = [(o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(outputs, stride, kernel, dilation)]
    sides = [(p, max(0, r - n - p)) for p, r, n in zip(padding, reach, x.shape[-2:])]
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + sides, constant_values=fill)
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            y, z = ky * dilation[0], kx * dilation[1]
            rows = slice(y, y + (outputs[0] - 1) * stride[0] + 1, stride[0])
            columns = slice(z, z + (outputs[1] - 1) * stride[1] + 1, stride[1])
            yield ky, kx, padded[..., rows, columns]


def window_of(case, kernel):
    params = case.params
    return {"kernel": kernel, "dilation": [1, 1], **params, "outputs": case.output["shape"][-2:]}


def output_size(size, kernel, stride, padding, dilation, ceil_mode):
    """PyTorch's rule."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    outputs = (-(-room // stride) if ceil_mode else room // stride) + 1
    return outputs - 1 if ceil_mode and (outputs - 1) * stride >= size + padding else outputs


def check_outputs(case, kernel, x):
    p = window_of(case, kernel)
    return [output_size(x.shape[i - 2], p["kernel"][i], p["stride"][i], p["padding"][i], p["dilation"][i],
                        p.get("ceil_mode", False)) for i in range(2)]


def max_pool2d(case):
    x = case.inputs[0]
    window = window_of(case, case.params["kernel"])
    window["outputs"] = check_outputs(case, window["kernel"], x)
    least = -np.inf if wide(case.output["dtype"]) else np.iinfo(x.dtype).min
    most = None
    for _, _, seen in views_of(x, window, least):
        most = seen if most is None else np.maximum(most, seen)
    return most


def counts_along(size, window, i, include_pad):
    start = np.arange(window["outputs"][i]) * window["stride"][i] - window["padding"][i]
    end = np.minimum(start + window["kernel"][i], size + window["padding"][i])
    return end - start if include_pad else np.minimum(end, size) - np.maximum(start, 0)


def avg_pool2d(case):
    x = case.inputs[0].astype(wide(case.output["dtype"]))
    window = window_of(case, case.params["kernel"])
    window["outputs"] = check_outputs(case, window["kernel"], x)
    total = sum(seen for _, _, seen in views_of(x, window, 0))
    size = sum(np.abs(seen) for _, _, seen in views_of(x, window, 0))
    include = case.params["count_include_pad"]
    counts = [np.maximum(counts_along(x.shape[i - 2], window, i, include), 0) for i in range(2)]
    count = np.maximum(counts[0][:, None] * counts[1][None, :], 1)
    return Exact(total / count, size / count, window["kernel"][0] * window["kernel"][1])


def conv2d(case):
    params, name = case.params, case.output["dtype"]
    kind = wide(name) or COMPUTED[name]
    x, weight = [cast(a, s["dtype"], name).astype(kind) for a, s in zip(case.inputs[:2], case.specs)]
    bias = cast(case.inputs[2], case.specs[2]["dtype"], name).astype(kind) if len(case.inputs) > 2 else np.zeros(1, kind)
    bias = bias.reshape(-1, 1, 1)
    single = x.ndim == 3
    x = x[None] if single else x
    groups = params["groups"]
    window = window_of(case, list(weight.shape[2:]))
    window["outputs"] = check_outputs(case, window["kernel"], x)

    def product(a, b):
        out = np.zeros((a.shape[0], b.shape[0], *window["outputs"]), kind)
        per_in, per_out = b.shape[1], b.shape[0] // groups
        for ky, kx, seen in views_of(a, window, 0):
            for g in range(groups):
                outs = slice(g * per_out, (g + 1) * per_out)
                mine = seen[:, g * per_in : (g + 1) * per_in]
                out[:, outs] += np.einsum("oc,nchw->nohw", b[outs, :, ky, kx], mine)
        return out

    total = product(x, weight)
    terms = max(int(np.prod(weight.shape[1:])), 1)
    value = (total + bias)[0] if single else total + bias
    if not wide(name):
        return value
    size = product(np.abs(x), np.abs(weight)) + np.abs(bias)
    if name in ("float16", "bfloat16"):  # the product is rounded once before the bias is added
        size = size + np.abs(total) * (EPSILON[name] / EPSILON["float32"]) / terms
    return Exact(value, size[0] if single else size, terms)


JUDGES = {
    "softmax": softmax,
    "log_softmax": log_softmax,
    "layer_norm": layer_norm,
    "linear": linear,
    "cross_entropy": cross_entropy,
    "dropout": dropout,
    "one_hot": one_hot,
    "embedding": lambda case: np.take(case.inputs[0], case.inputs[1], 0),
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "conv2d": conv2d,
}

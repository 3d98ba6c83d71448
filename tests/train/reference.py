#!/usr/bin/env python3
"""The first losses of a training, from the same first weights, by NumPy in double precision: the forward pass is written anew, and
every gradient is a central difference, so that nothing is shared with what is judged. Those of whole epochs of fit, in batches of 8
of which the last is smaller, are derived by hand.
usage: reference.py mlp|transformer|fit_sgd|fit_adam FILE   (safetensors: weights "model.*", data, and the "losses" to compare with)"""

import json
import math
import pathlib
import sys

import numpy as np

DTYPES = {"F32": np.float32, "I64": np.int64}


def read(path):
    content = pathlib.Path(path).read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data[slice(*entry["data_offsets"])], DTYPES[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items()}


def dense(w, name, x):
    return x @ w[f"{name}.weight"] + w[f"{name}.bias"]


def cross_entropy(logits, labels):
    shifted = logits - logits.max(-1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -np.take_along_axis(logs, labels[:, None], -1).mean()


def mlp(w, data):
    return cross_entropy(dense(w, "model.out", np.maximum(dense(w, "model.hidden", data["x"].astype(float)), 0)), data["labels"])


def layer_norm(w, name, x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]


ERF = np.vectorize(math.erf)


def attention(w, name, x, heads):
    batch, length, features = x.shape

    def split(y):
        return y.reshape(batch, length, heads, features // heads).transpose(0, 2, 1, 3)

    query, key, value = (split(dense(w, f"{name}.{part}", x)) for part in ("query", "key", "value"))
    scores = query @ key.transpose(0, 1, 3, 2) / math.sqrt(features // heads)
    scores = np.where(np.tril(np.ones((length, length), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    seen = weights / weights.sum(-1, keepdims=True) @ value
    return dense(w, f"{name}.out", seen.transpose(0, 2, 1, 3).reshape(batch, length, features))


def transformer(w, data):
    texts = data["texts"]
    x = w["model.characters.weight"][texts[:, :-1]] + w["model.places.weight"]
    for i in range(sum(name.endswith("before.weight") for name in w)):
        block = f"model.blocks.{i}"
        x = x + attention(w, f"{block}.attention", layer_norm(w, f"{block}.before", x), 2)
        y = dense(w, f"{block}.wide", layer_norm(w, f"{block}.between", x))
        x = x + dense(w, f"{block}.narrow", y * (1 + ERF(y / math.sqrt(2))) / 2)
    logits = dense(w, "model.out", layer_norm(w, "model.last", x))
    return cross_entropy(logits.reshape(-1, logits.shape[-1]), texts[:, 1:].reshape(-1))


def gradients(loss, w, data, apart=1e-5):
    out = {}
    for name, values in w.items():
        flat, slopes = values.reshape(-1), np.empty(values.size)
        for i, value in enumerate(flat):
            flat[i] = value + apart
            above = loss(w, data)
            flat[i] = value - apart
            slopes[i] = (above - loss(w, data)) / (2 * apart)
            flat[i] = value
        out[name] = slopes.reshape(values.shape)
    return out


def adamw(w, g, state, step, rate, decay):
    for name, values in w.items():
        m, v = state.setdefault(name, [np.zeros_like(values), np.zeros_like(values)])
        m[:] = 0.9 * m + 0.1 * g[name]
        v[:] = 0.999 * v + 0.001 * g[name] ** 2
        values *= 1 - rate * decay
        values -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)


def mlp_slopes(w, data):
    """The loss of the MLP and its gradients."""
    x, labels = data["x"].astype(float), data["labels"]
    before = dense(w, "model.hidden", x)
    hidden = np.maximum(before, 0)
    logits = dense(w, "model.out", hidden)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    to_logits = (weights / weights.sum(-1, keepdims=True) - np.eye(logits.shape[-1])[labels]) / len(x)
    to_hidden = to_logits @ w["model.out.weight"].T * (before > 0)
    return cross_entropy(logits, labels), {
        "model.hidden.weight": x.T @ to_hidden, "model.hidden.bias": to_hidden.sum(0),
        "model.out.weight": hidden.T @ to_logits, "model.out.bias": to_logits.sum(0)}


def fit(kind, data):
    """The mean loss of each epoch, over examples."""
    w = {name: values.astype(float) for name, values in data.items() if name.startswith("model.")}
    rows, state, step, losses = len(data["x"]), {}, 0, []
    for _ in data["losses"]:
        sum_of_losses = 0
        for begin in range(0, rows, 8):
            batch = {name: data[name][begin : begin + 8] for name in ("x", "labels")}
            loss, g = mlp_slopes(w, batch)
            sum_of_losses += loss * len(batch["x"])
            step += 1
            if kind == "fit_adam":
                adamw(w, g, state, step, 0.02, 0)
            else:
                for name, values in w.items():
                    values -= 0.2 * g[name]
        losses.append(sum_of_losses / rows)
    return losses


def train(kind, data):
    if kind.startswith("fit_"):
        return fit(kind, data)
    loss = {"mlp": mlp, "transformer": transformer}[kind]
    w = {name: values.astype(float) for name, values in data.items() if name.startswith("model.")}
    state, losses = {}, []
    for step in range(len(data["losses"])):
        losses.append(loss(w, data))
        if step + 1 == len(data["losses"]):
            return losses
        g = gradients(loss, w, data)
        rate, decay = 0.02, 0
        if kind == "transformer":  # clipped, and along warm-up and cosine: one step up, then four down
            norm = math.sqrt(sum((each**2).sum() for each in g.values()))
            g = {name: each * min(1, 0.5 / (norm + 1e-6)) for name, each in g.items()}
            rate, decay = 0.01 * (step if step < 1 else (1 + math.cos(math.pi * (step - 1) / 4)) / 2), 0.01
        adamw(w, g, state, step + 1, rate, decay)


if __name__ == "__main__":
    tensors = read(sys.argv[2])
    found = train(sys.argv[1], tensors)
    print("here", found, "\ntutti", tensors["losses"].tolist())
    sys.exit(0 if np.allclose(found, tensors["losses"], rtol=2e-5, atol=0) else 1)

"""Elements in another arrangement: exact, whatever the dtype."""

import numpy as np

from spine import promoted


def axes_of(case, name="axes"):
    axes = case.params[name]
    return None if axes is None else tuple(axes)


def pad(case):
    x, widths = case.inputs[0], case.params["widths"]
    value = case.params["value"] if "value" in case.params else case.inputs[1].reshape(())
    if x.ndim == 0:
        return x
    widths = widths * x.ndim if len(widths) == 1 else widths
    out = np.full([n + before + after for n, (before, after) in zip(x.shape, widths)], value, x.dtype)
    out[tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, widths))] = x
    return out


def roll(case):
    axes = axes_of(case)
    return case.inputs[0] if axes == () else np.roll(case.inputs[0], case.params["shifts"], axes)


def split(case):
    return np.split(case.inputs[0], case.params["at"], case.params["axis"])[case.number]


JUDGES = {
    "concat": lambda case: np.concatenate(
        [x.reshape(-1) if case.params["axis"] is None else x for x in promoted(case)], case.params["axis"] or 0
    ),
    "stack": lambda case: np.stack(promoted(case), case.params["axis"]),
    "unstack": lambda case: np.take(case.inputs[0], case.number, case.params["axis"]),
    "split": split,
    "expand_dims": lambda case: np.expand_dims(case.inputs[0], case.params["axis"]),
    "squeeze": lambda case: np.squeeze(case.inputs[0], axes_of(case)),
    "moveaxis": lambda case: np.moveaxis(case.inputs[0], case.params["from"], case.params["to"]),
    "flip": lambda case: np.flip(case.inputs[0], axes_of(case)),
    "matrix_transpose": lambda case: np.swapaxes(case.inputs[0], -1, -2),
    "diagonal": lambda case: np.diagonal(case.inputs[0], case.params["offset"], case.params["axis1"], case.params["axis2"]),
    "broadcast_arrays": lambda case: np.broadcast_arrays(*case.inputs)[case.number],
    "roll": roll,
    "repeat": lambda case: np.repeat(case.inputs[0], case.params["times"], case.params["axis"]),
    "tile": lambda case: np.tile(case.inputs[0], case.params["repetitions"]),
    "pad": pad,
}

"""One case: an op, its parameters, its inputs and what came out."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Case:
    op: str
    params: dict
    inputs: list  # arrays, viewed as the program viewed them
    specs: list  # of the inputs: "dtype", "base", "views"
    output: dict  # "dtype", "shape"
    number: int = 0  # which of several outputs


@dataclass
class Exact:
    """An exact result; where it is a sum, the sum of the magnitudes that were added and how many there were."""

    value: Any
    magnitude: Any = None
    terms: int = 0
    # Elements that may be anything (a choice NumPy leaves open), as a mask.
    free: Any = field(default=None)

    def __post_init__(self):
        self.value = np.asarray(self.value)

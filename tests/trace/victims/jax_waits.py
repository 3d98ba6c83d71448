"""Waits of JAX, which make no call into the driver: the thread sleeps until a host callback. A line that waits says so:
"# waits: N CLASS", N times a step. usage: jax_waits.py [STEPS]"""

import sys
import time

import numpy as np
import jax
import jax.numpy as jnp

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
weights = jnp.ones((2048, 2048)) * 0.01
history = []


@jax.jit
def busy(x):
    for _ in range(4):
        x = jnp.tanh(x @ weights) * 0.5
    return x, x.mean()


def step(x):
    x, mean = busy(x)
    history.append(float(mean))  # waits: 1 deferrable
    x, mean = busy(x)
    if mean > 1e6:  # waits: 1 control flow
        raise SystemExit("diverged")
    x, mean = busy(x)
    x.block_until_ready()  # waits: 1 unknown
    x, mean = busy(x)
    return x, np.asarray(x)  # waits: 1 unknown


x = jnp.ones((1024, 2048))
for _ in range(3):
    x, host = step(x)
begin = time.perf_counter()
for _ in range(steps):
    x, host = step(x)
print(f"{steps} steps, {1e3 * (time.perf_counter() - begin) / steps:.3f} ms each; {host[0, 0]:.3f}, {len(history)}")

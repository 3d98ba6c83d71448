"""Waits of JAX. usage: jax_waits.py [STEPS]"""

import sys
import time

import numpy as np
import jax
import jax.numpy as jnp

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
weights = jnp.ones((1024, 1024)) * 0.01
busy = jax.jit(lambda x: jnp.tanh(x @ weights @ weights) * 0.5)


def step(x):
    x = busy(x)
    float(x[0, 0])  # waits: float
    x = busy(x)
    x.block_until_ready()  # waits: block_until_ready
    x = busy(x)
    np.asarray(x)  # waits: asarray
    jnp.asarray(np.ones((512, 1024), np.float32))  # a copy to the device
    return x


x = jnp.ones((512, 1024))
begin = time.perf_counter()
for _ in range(steps):
    x = step(x)
print(f"{steps} steps, {1e3 * (time.perf_counter() - begin) / steps:.3f} ms each")

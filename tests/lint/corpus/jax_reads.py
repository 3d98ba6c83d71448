# The reads of JAX; see README.md.
import jax
import jax.numpy as jnp
import numpy as np

# %% float
x = jnp.ones(4)
v = float(x.sum())  # sync: jax-read

# %% item
x = jnp.ones(4)
v = x.sum().item()  # sync: jax-read

# %% an array for NumPy
x = jnp.ones(4) * 2
a = np.asarray(x)  # sync: jax-read

# %% device_get
x = jnp.ones(4)
a = jax.device_get(x)  # sync: jax-read

# %% block_until_ready
x = jnp.ones(4)
x.block_until_ready()  # sync: jax-block

# %% block_until_ready of a tree
x = jnp.ones(4)
y = jax.block_until_ready({"x": x})  # sync: jax-block

# %% print
x = jnp.ones(4)
print(x)  # sync: jax-read

# %% print of a shape
x = jnp.ones(4)
print(x.shape, x.dtype)

# %% a branch
x = jnp.ones(4)
if x.sum() > 3:  # sync: jax-branch
    y = 1

# %% jnp.where
x = jnp.ones(4)
y = jnp.where(x > 3, x, 0)

# %% what jit returns
@jax.jit
def double(x):
    return x * 2

y = double(jnp.ones(3))
v = float(y[0])  # sync: jax-read

# %% gradients
g = jax.grad(lambda x: (x ** 2).sum())(jnp.ones(3))
v = g.tolist()  # sync: jax-read

# %% random numbers
key = jax.random.PRNGKey(0)
x = jax.random.normal(key, (3,))
s = f"{x}"  # sync: jax-read

# %% arrays of NumPy
a = np.ones(3)
v = float(a.sum())
if a.sum() > 2:
    v = 2.0

# Control flow that depends on values of the GPU; see README.md.
import torch

# %% if of a comparison
x = torch.ones(4, device="cuda")
if x.sum() > 3:  # sync: branch
    y = 1

# %% if of a flag computed before
x = torch.ones(4, device="cuda")
flag = x.sum() > 16
if flag:  # sync: branch
    y = 1

# %% if of any
x = torch.ones(4, device="cuda")
if torch.isnan(x).any():  # sync: branch
    y = 1

# %% if of a tensor of the CPU
x = torch.ones(4)
if x.sum() > 3:
    y = 1

# %% if of a shape
x = torch.ones(4, device="cuda")
if x.shape[0] > 3 and x.numel() > 0 and len(x) > 1:
    y = 1

# %% if of is_cuda
x = torch.ones(4, device="cuda")
if x.is_cuda and x.requires_grad is False and x.dtype == torch.float32:
    y = 1

# %% if is None
x = torch.ones(4, device="cuda")
if x is None:
    y = 1
if x is not None:
    y = 2

# %% if of isinstance and is_tensor
x = torch.ones(4, device="cuda")
if isinstance(x, torch.Tensor) and torch.is_tensor(x) and x.is_floating_point():
    y = 1

# %% if of the device
x = torch.ones(4, device="cuda")
if x.device.type == "cuda" or x.device == torch.device("cuda"):
    y = 1

# %% if of item: one read
x = torch.ones((), device="cuda")
if x.item() > 0:  # sync: item
    y = 1

# %% if not
x = torch.ones((), device="cuda")
if not x:  # sync: branch
    y = 1

# %% elif
x = torch.ones((), device="cuda")
n = 3
if n > 4:
    y = 1
elif x > 0:  # sync: branch
    y = 2

# %% while
x = torch.ones((), device="cuda")
while x < 3:  # sync: branch
    x = x + 1

# %% while of a number
n = 0
x = torch.ones((), device="cuda")
while n < 3:
    n += 1
    x = x + 1

# %% and, or
x = torch.ones((), device="cuda")
b = x and 1  # sync: branch

# %% logical_and stays
x = torch.ones(3, device="cuda") > 0
b = torch.logical_and(x, ~x) | x

# %% a chain of comparisons
x = torch.ones((), device="cuda")
b = 0 < x < 2  # sync: branch

# %% one comparison
x = torch.ones(4, device="cuda")
b = x < 2

# %% a conditional expression
x = torch.ones((), device="cuda")
v = 1 if x > 0 else 2  # sync: branch

# %% a conditional expression of a shape
x = torch.ones(3, device="cuda")
v = x if x.ndim == 1 else x[0]

# %% torch.where instead
x = torch.ones(3, device="cuda")
v = torch.where(x > 0, x, -x)

# %% a condition inside a comprehension
xs = [torch.ones((), device="cuda") for i in range(2)]
v = [x for x in xs if x > 0]  # sync: branch

# %% assert of a tensor
x = torch.ones(3, device="cuda")
assert (x > 0).all()  # sync: assert

# %% assert of isfinite
x = torch.ones(3, device="cuda")
assert torch.isfinite(x).all(), "not finite"  # sync: assert

# %% assert of a shape
x = torch.ones(3, device="cuda")
assert x.shape == (3,) and x.is_cuda, x.shape

# %% assert of a tensor of the CPU
x = torch.ones(3)
assert (x > 0).all()

# %% assert on the device
x = torch.ones(3, device="cuda")
torch._assert_async((x > 0).all())

# %% max of two tensors
a = torch.ones((), device="cuda")
b = torch.zeros((), device="cuda")
m = max(a, b)  # sync: min-max

# %% min with a number
a = torch.ones((), device="cuda")
m = min(a, 1.0)  # sync: min-max

# %% torch.max of two tensors
a = torch.ones((), device="cuda")
b = torch.zeros((), device="cuda")
m = torch.max(a, b)
n = torch.minimum(a, b)
k = a.clamp(max=1.0)

# %% max of numbers
m = max(1, 2, 3)

# %% max of sizes
x = torch.ones(3, 4, device="cuda")
m = max(x.shape[0], x.size(1))

# %% sorted
xs = [torch.ones((), device="cuda"), torch.zeros((), device="cuda")]
s = sorted(xs)  # sync: min-max

# %% any over a tensor
x = torch.zeros(3, device="cuda")
b = any(x)  # sync: min-max

# %% all over numbers
b = all(n > 0 for n in (1, 2, 3))

# %% sum over a list adds
xs = [torch.ones((), device="cuda"), torch.zeros((), device="cuda")]
s = sum(xs)

# %% the loop over a tensor slices it
x = torch.ones(3, 4, device="cuda")
for row in x:
    y = row * 2

# %% a branch in forward
class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # sync: branch
            return x
        return -x

Gate().cuda()(torch.ones(3, device="cuda"))

# %% a branch on an option in forward
class Gate(torch.nn.Module):
    def __init__(self, flip=False):
        super().__init__()
        self.flip = flip

    def forward(self, x, scale=None):
        if self.flip and scale is None:
            return -x
        if self.training:
            return x
        return x

Gate().cuda()(torch.ones(3, device="cuda"))  # sync, not reported: moves a module

# %% a branch on a parameter
class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        if self.gate > 0:  # sync: branch
            return x
        return -x

model = Gate().to("cuda")  # sync, not reported: moves a module
model(torch.ones(3, device="cuda"))

# %% early stop on the loss
x = torch.ones(3, device="cuda")
best = 10.0
for step in range(2):
    loss = (x * step).mean()
    if loss < best:  # sync: branch
        best = loss

# %% early stop on a number
best = 10.0
for step in range(2):
    loss = float(step)
    if loss < best:
        best = loss

# %% in a tuple
x = torch.ones((), device="cuda")
b = 1.0 in x.view(1)  # sync: branch

# %% in a dictionary
x = {"a": torch.ones((), device="cuda")}
if "a" in x:
    y = x["a"]

# %% a list of tensors is a list
xs = [torch.ones(3, device="cuda")]
if xs:
    y = xs[0]
if not xs:
    y = None

# %% a branch on a dictionary that holds tensors
state = {"w": torch.ones(3, device="cuda")}
if state:
    y = 1

# %% allclose in a branch
x = torch.ones(3, device="cuda")
if torch.allclose(x, x):  # sync: allclose
    y = 1

# %% equal
x = torch.ones(3, device="cuda")
same = torch.equal(x, x.clone())  # sync: allclose

# %% equal as a method
x = torch.ones(3, device="cuda")
same = x.equal(x.clone())  # sync: allclose

# %% equal of tensors of the CPU
x = torch.ones(3)
same = torch.equal(x, x) and torch.allclose(x, x)

# %% eq and isclose stay
x = torch.ones(3, device="cuda")
same = torch.eq(x, x) & torch.isclose(x, x)

# %% assert_close
x = torch.ones(3, device="cuda")
torch.testing.assert_close(x, x.clone())  # sync: allclose

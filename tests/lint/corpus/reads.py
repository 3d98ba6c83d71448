# Values that the host reads. Each piece between %% lines is a program of its own, after these lines; see README.md.
import logging
import math

import numpy as np
import torch
import torch.nn.functional as F

# %% item of a sum
x = torch.randn(8, device="cuda")
total = x.sum().item()  # sync: item

# %% item of an element
x = torch.randn(8, device="cuda:0")
first = x[0].item()  # sync: item

# %% item of a tensor of the CPU
x = torch.randn(8)
total = x.sum().item()

# %% item after the copy: the copy waits
x = torch.randn(8).cuda(non_blocking=True)
total = x.sum().cpu().item()  # sync: to-cpu

# %% item of another class
class Basket:
    def item(self):
        return 1

b = Basket()
one = b.item()

# %% items of a dictionary
losses = {"a": 1.0}
for name, value in losses.items():
    total = value + 1

# %% item of an array of NumPy
a = np.arange(4)
v = a[0].item()

# %% item in strings and comments
text = "x.item()"  # x.item() waits
doc = """loss.item() and torch.cuda.synchronize()"""

# %% item through a device object
device = torch.device("cuda")
x = torch.ones(3, device=device)
v = x.mean().item()  # sync: item

# %% item where a GPU is likely
device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.ones(3, device=device)
v = x.mean().item()  # sync: item

# %% item on a CPU device object
device = torch.device("cpu")
x = torch.ones(3, device=device)
v = x.mean().item()

# %% item in a helper that gets the tensor
def report(loss):
    return loss.item()  # sync: item

report(torch.ones((), device="cuda"))

# %% item in a helper that gets a tensor of the CPU
def report(loss):
    return loss.item()

report(torch.ones(()))

# %% item of what a helper returns
def make():
    return torch.ones(4, device="cuda")

v = make().sum().item()  # sync: item

# %% item of what a helper returns, on the CPU
def make():
    return torch.ones(4)

v = make().sum().item()

# %% item of an attribute
class Meter:
    def __init__(self):
        self.total = torch.zeros((), device="cuda")

    def value(self):
        return self.total.item()  # sync: item

Meter().value()

# %% item of an attribute on the CPU
class Meter:
    def __init__(self):
        self.total = torch.zeros(())

    def value(self):
        return self.total.item()

Meter().value()

# %% item of a result on the left of arithmetic
x = torch.rand(4, device="cuda")
y = 2 * x - 1
v = y.max().item() + 1  # sync: item

# %% item of one of several results
x = torch.rand(4, 4, device="cuda")
values, indices = x.max(dim=1)
v = indices[0].item()  # sync: item

# %% item after tuple assignment
a, b = torch.rand(2, device="cuda"), torch.rand(2)
u = a.sum().item()  # sync: item
v = b.sum().item()

# %% a name that was moved to the host first
x = torch.rand(4, device="cuda")
x = x.cpu()  # sync: to-cpu
v = x.sum().item()

# %% a name that was moved to the GPU later
x = torch.rand(4)
v = x.sum().item()
x = x.to("cuda", non_blocking=True)
w = x.sum().item()  # sync: item

# %% tolist
x = torch.arange(4, device="cuda")
v = x.tolist()  # sync: tolist

# %% tolist of a tensor of the CPU
x = torch.arange(4)
v = x.tolist()

# %% tolist of an array of NumPy
v = np.arange(4).tolist()

# %% tolist of a size
x = torch.ones(2, 3, device="cuda")
v = list(x.shape)

# %% tolist of a reduction
x = torch.rand(4, 4, device="cuda")
v = x.argmax(dim=1).tolist()  # sync: tolist

# %% cpu
x = torch.ones(4, device="cuda")
y = x.cpu()  # sync: to-cpu

# %% cpu of a detached tensor, to NumPy
x = torch.ones(4, device="cuda", requires_grad=True)
y = x.detach().cpu().numpy()  # sync: to-cpu

# %% cpu of a tensor of the CPU
x = torch.ones(4)
y = x.cpu()

# %% to the host by name
x = torch.ones(4, device="cuda")
y = x.to("cpu")  # sync: to-cpu

# %% to the host by device object
x = torch.ones(4, device="cuda")
y = x.to(torch.device("cpu"))  # sync: to-cpu

# %% to the host by keyword
x = torch.ones(4, device="cuda")
y = x.to(device="cpu", dtype=torch.float64)  # sync: to-cpu

# %% to the host without waiting
x = torch.ones(4, device="cuda")
y = x.to("cpu", non_blocking=True)

# %% to another dtype
x = torch.ones(4, device="cuda")
y = x.to(torch.float16)

# %% to the dtype of another
x = torch.ones(4, device="cuda")
z = torch.ones(4, device="cuda", dtype=torch.float64)
y = x.to(z)

# %% numpy by force
x = torch.ones(4, device="cuda")
y = x.numpy(force=True)  # sync: numpy

# %% numpy of a tensor of the CPU
y = torch.ones(4).numpy()

# %% numpy of a copy that did not wait
x = torch.ones(4, device="cuda")
h = x.to("cpu", non_blocking=True)
torch.cuda.current_stream().synchronize()  # sync: synchronize
y = h.numpy()

# %% float of a loss
x = torch.ones(4, device="cuda")
loss = F.mse_loss(x, torch.zeros_like(x))
v = float(loss)  # sync: python-scalar

# %% int of a count
x = torch.ones(4, device="cuda")
n = int((x > 0).sum())  # sync: python-scalar

# %% bool of any
x = torch.ones(4, device="cuda")
b = bool(x.isnan().any())  # sync: python-scalar

# %% float of a number
v = float("1.5") + float(3)

# %% int of a size
x = torch.ones(4, 2, device="cuda")
n = int(x.shape[0]) * int(x.size(1)) * int(x.numel())

# %% float of a tensor of the CPU
v = float(torch.ones(()))

# %% int of a dimension
x = torch.ones(4, device="cuda")
n = int(x.dim()) + x.ndim + len(x)

# %% functions of math read
x = torch.ones((), device="cuda")
v = math.sqrt(x)  # sync: python-scalar

# %% functions of math on numbers
v = math.sqrt(2.0)

# %% is_nonzero
x = torch.ones((), device="cuda")
b = torch.is_nonzero(x)  # sync: python-scalar

# %% float of an element in a comprehension
x = torch.ones(3, device="cuda")
v = [float(e) for e in x]  # sync: python-scalar

# %% complex
x = torch.ones((), device="cuda")
v = complex(x)  # sync: python-scalar

# %% print of a tensor
x = torch.ones(4, device="cuda")
print(x)  # sync: print

# %% print of a loss behind a word
loss = torch.ones(4, device="cuda").mean()
print("loss", loss)  # sync: print

# %% print of a shape
x = torch.ones(4, device="cuda")
print(x.shape, x.dtype, x.device, x.is_cuda)

# %% print of a tensor of the CPU
print(torch.ones(4))

# %% print of a number that was read
x = torch.ones(4, device="cuda")
print(x.sum().item())  # sync: item

# %% print of a string
print("torch.cuda.synchronize()")

# %% an f-string
x = torch.ones((), device="cuda")
s = f"loss {x}"  # sync: format

# %% an f-string with a format
x = torch.ones((), device="cuda")
s = f"loss {x:.3f}"  # sync: format

# %% an f-string of a shape
x = torch.ones(4, device="cuda")
s = f"{x.shape} {tuple(x.size())} {x.device}"

# %% str and repr
x = torch.ones(4, device="cuda")
s = str(x)  # sync: format
r = repr(x)  # sync: format

# %% str of a device
x = torch.ones(4, device="cuda")
s = str(x.device) + str(x.dtype)

# %% format of a string
x = torch.ones((), device="cuda")
s = "loss {}".format(x)  # sync: format

# %% percent
x = torch.ones((), device="cuda")
s = "loss %.3f" % x  # sync: format

# %% percent of a tuple
x = torch.ones((), device="cuda")
s = "step %d loss %.3f" % (3, x)  # sync: format

# %% percent of numbers
s = "step %d" % 3
n = 17 % 5

# %% remainder of a tensor
x = torch.arange(4, device="cuda")
y = x % 2

# %% format of numbers
s = "{} {}".format(1, "cuda")

# %% a log line that is written
logging.basicConfig(level=logging.INFO)
logger = logging.getLogger("train")
loss = torch.ones((), device="cuda")
logger.warning("loss %s", loss)  # sync: log-value

# %% a log line about a shape
logging.basicConfig(level=logging.INFO)
logger = logging.getLogger("train")
x = torch.ones(4, device="cuda")
logger.warning("shape %s", x.shape)

# %% a value through a container of names
x = torch.ones(4, device="cuda")
stats = {"loss": x.sum()}
v = stats["loss"].item()  # sync: item

# %% a value through a list
losses = []
for i in range(3):
    losses.append(torch.ones((), device="cuda"))
v = torch.stack(losses).mean().item()  # sync: item

# %% values of a list of the CPU
losses = []
for i in range(3):
    losses.append(torch.ones(()))
v = torch.stack(losses).mean().item()

# %% detach, clone and views keep the device
x = torch.ones(4, 4, device="cuda")
y = x.detach().clone().view(-1).t().contiguous()
v = y[3].item()  # sync: item

# %% zeros_like keeps the device
x = torch.ones(4, device="cuda")
y = torch.zeros_like(x)
v = y[3].item()  # sync: item

# %% a new tensor on the device of another
x = torch.ones(4, device="cuda")
y = torch.zeros(4, device=x.device)
z = x.new_ones(3)
v = y[3].item()  # sync: item
w = z[0].item()  # sync: item

# %% augmented assignment of a host number by a tensor
x = torch.ones((), device="cuda")
total = 0.0
total += x
v = total.item()  # sync: item

# %% augmented assignment by a number that was read
x = torch.ones((), device="cuda")
total = 0.0
total += x.item()  # sync: item
v = round(total, 3)

# %% a default argument
def scale(x, device="cuda"):
    y = torch.ones(3, device=device)
    return y.sum().item()  # sync: item

scale(1)

# %% an argument with an annotation of a device
def scale(device: torch.device):
    y = torch.ones(3, device=device)
    return y.sum().item()  # sync: item

scale(torch.device("cuda"))

# %% walrus
x = torch.ones(3, device="cuda")
v = (y := x.sum()).item()  # sync: item

# %% global constants
DEVICE = "cuda"
def run():
    t = torch.ones(3, device=DEVICE)
    return t.sum().item()  # sync: item

run()

# %% an upper-case constant of the CPU
DEVICE = "cpu"
def run():
    t = torch.ones(3, device=DEVICE)
    return t.sum().item()

run()

# %% cuda with an index
x = torch.ones(3).cuda(0, non_blocking=True)
v = x.sum().item()  # sync: item

# %% a with block
with torch.no_grad():
    x = torch.ones(3, device="cuda")
    v = x.sum().item()  # sync: item

# %% the default device
torch.set_default_device("cuda")
x = torch.ones(3)
v = x.sum().item()  # sync: item
torch.set_default_device("cpu")

# %% a device as context
with torch.device("cuda"):
    x = torch.ones(3)
v = x.sum().item()  # sync: item

# %% from and import names
from torch import ones
x = ones(3, device="cuda")
v = x.sum().item()  # sync: item

# %% an alias of torch
import torch as th
x = th.ones(3, device="cuda")
v = x.sum().item()  # sync: item

# Statements and calls of every form Python has; see README.md.
import functools

import torch

# %% match decides by a value
loss = torch.ones((), device="cuda")
match loss.item():  # sync: item
    case 0:
        n = 0
    case _:
        n = 1

# %% a case with a condition
loss = torch.ones((), device="cuda")
match 3:
    case n if loss > n:  # sync: branch
        loss = loss / n
    case _:
        pass

# %% match decides by what the host knows
x = torch.ones(3, device="cuda")
match x.dim():
    case n if n > 2:
        x = x.sum(0)
    case _:
        x = x * 2

# %% a tensor of tensors
x = torch.ones(3, device="cuda")
losses = []
for i in range(3):
    losses.append((x * i).sum())
mean = torch.tensor(losses).mean()  # sync: python-scalar

# %% a tensor of tensors, on the GPU
x = torch.ones(3, device="cuda")
losses = [x.sum(), x.prod()]
both = torch.tensor(losses, device="cuda")  # sync: create-from-host, python-scalar

# %% tensors stacked
x = torch.ones(3, device="cuda")
losses = [x.sum(), x.prod()]
both = torch.stack(losses)

# %% a tensor of tensors of the host
losses = [torch.ones(3).sum(), torch.ones(3).prod()]
both = torch.tensor(losses)

# %% numbers of a list
x = torch.ones(3, device="cuda")
losses = [x.sum(), x.prod()]
numbers = list(map(float, losses))  # sync: python-scalar

# %% a function for each of a list
x = torch.ones(3, device="cuda")
def number(loss):
    return loss.item()  # sync: item

numbers = list(map(number, [x.sum(), x.prod()]))

# %% numbers of a list of the host
sizes = list(map(int, ["1", "2"]))
numbers = list(map(float, [torch.ones(())]))

# %% print of several
x = torch.ones(3, device="cuda")
values = [x.sum(), x.prod()]
print(*values)  # sync: print

# %% print of several shapes
x = torch.ones(3, device="cuda")
print(*x.shape, *[1, 2])

# %% a generator of batches
def batches():
    for i in range(2):
        yield torch.ones(3).cuda(non_blocking=True)

for x in batches():
    print(x.sum().item())  # sync: item

# %% a generator of pairs
def batches(device):
    for i in range(2):
        yield i, torch.ones(3, device=device)

for i, x in batches("cuda"):
    if x.sum() > i:  # sync: branch
        x = x * 2
    print(i)

# %% a generator for a device that it is given
def batches(device):
    for i in range(2):
        yield torch.ones(3, device=device)

for x in batches("cpu"):
    print(x.sum().item())

# %% a generator from another
def inner():
    yield torch.ones(3, device="cuda")

def outer():
    yield from inner()

for x in outer():
    print(x)  # sync: print

# %% a generator of batches of the host
def batches():
    for i in range(2):
        yield torch.ones(3)

for x in batches():
    print(x.sum().item())

# %% an object that gives batches
class Batches:
    def __iter__(self):
        for i in range(2):
            yield torch.ones(3, device="cuda")

for x in Batches():
    v = x.sum().item()  # sync: item

# %% a property
class Meter:
    def __init__(self):
        self.total = torch.zeros((), device="cuda")

    @property
    def mean(self):
        return self.total / 3

print(Meter().mean.item())  # sync: item

# %% a property of the host
class Meter:
    def __init__(self):
        self.total = torch.zeros(())

    @property
    def mean(self):
        return self.total / 3

print(Meter().mean.item())

# %% a name of the module, given by a function
best = None
def keep(x):
    global best
    best = x.sum()

keep(torch.ones(3, device="cuda"))
print(best.item())  # sync: item

# %% a name of the module, given a tensor of the host
best = None
def keep(x):
    global best
    best = x.sum()

keep(torch.ones(3))
print(best.item())

# %% a name of the module, given what is on a device
best = None
def keep(device):
    global best
    best = torch.ones((), device=device)

keep("cpu")
print(best.item())

# %% a name of a function, given by one inside
def run():
    best = None
    def keep(x):
        nonlocal best
        best = x.sum()

    keep(torch.ones(3, device="cuda"))
    print(best.item())  # sync: item

run()

# %% a name of a function that another function has, too
def run():
    best = torch.ones(())
    def keep(x):
        best = x.sum()
        return best

    keep(torch.ones(3, device="cuda"))
    print(best.item())

run()

# %% a call with some of its arguments
make = functools.partial(torch.ones, device="cuda")
x = make(3)
v = x.sum().item()  # sync: item

# %% a call with some of its arguments, for the host
make = functools.partial(torch.ones, dtype=torch.double)
v = make(3).sum().item()

# %% several exceptions at a time
x = torch.ones(3, device="cuda")
try:
    raise ExceptionGroup("several", [ValueError()])
except* ValueError:
    v = x.sum().item()  # sync: item

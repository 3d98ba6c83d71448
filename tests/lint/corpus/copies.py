# Tensors made from the host's data, and copies between host and GPU; see README.md.
import numpy as np
import torch

# %% tensor from a list on the GPU
x = torch.tensor([1.0, 2.0], device="cuda")  # sync: create-from-host

# %% tensor from a number on the GPU
x = torch.tensor(3.14, device="cuda")  # sync: create-from-host

# %% tensor from a list on the CPU
x = torch.tensor([1.0, 2.0])

# %% tensor on a CPU device
x = torch.tensor([1.0, 2.0], device="cpu")

# %% tensor on a device object
device = torch.device("cuda:0")
x = torch.tensor([1, 2], device=device)  # sync: create-from-host

# %% tensor on the device of another
x = torch.ones(3, device="cuda")
y = torch.tensor([0, 1], device=x.device)  # sync: create-from-host

# %% as_tensor of an array
a = np.ones(3)
x = torch.as_tensor(a, device="cuda")  # sync: create-from-host

# %% as_tensor of an array on the CPU
a = np.ones(3)
x = torch.as_tensor(a)

# %% as_tensor of what is there already
x = torch.ones(3, device="cuda")
y = torch.as_tensor(x, device="cuda")

# %% fills on the GPU
x = torch.zeros(3, device="cuda")
y = torch.ones(3, device="cuda")
z = torch.full((3,), 2.0, device="cuda")
w = torch.empty(3, device="cuda")

# %% ranges and random numbers on the GPU
x = torch.arange(10, device="cuda")
y = torch.linspace(0, 1, 5, device="cuda")
z = torch.randn(3, device="cuda")
w = torch.eye(3, device="cuda")

# %% full of no dimension instead of a number
x = torch.full((), 3.14, device="cuda")
y = torch.scalar_tensor(3.14, device="cuda")

# %% the constructor of CUDA from a list
x = torch.cuda.FloatTensor([1.0, 2.0])  # sync: create-from-host

# %% the constructor of CUDA from sizes
x = torch.cuda.FloatTensor(2, 3)

# %% new_tensor
x = torch.ones(3, device="cuda")
y = x.new_tensor([1.0, 2.0])  # sync: create-from-host

# %% new_zeros
x = torch.ones(3, device="cuda")
y = x.new_zeros(2)
z = x.new_full((2,), 1.0)

# %% new_tensor of the CPU
x = torch.ones(3)
y = x.new_tensor([1.0, 2.0])

# %% the default device
torch.set_default_device("cuda")
x = torch.tensor([1.0])  # sync: create-from-host
torch.set_default_device("cpu")

# %% a device as context
with torch.device("cuda"):
    x = torch.tensor([1.0])  # sync: create-from-host

# %% cuda of a tensor of the CPU
x = torch.ones(3)
y = x.cuda()  # sync: blocking-copy

# %% to by name
x = torch.ones(3)
y = x.to("cuda")  # sync: blocking-copy

# %% to by device object
device = torch.device("cuda")
x = torch.ones(3)
y = x.to(device)  # sync: blocking-copy

# %% to by keyword
x = torch.ones(3)
y = x.to(device="cuda", dtype=torch.float16)  # sync: blocking-copy

# %% to from pinned memory without waiting
x = torch.ones(3).pin_memory()
y = x.to("cuda", non_blocking=True)

# %% to from pinned memory, waiting all the same
x = torch.ones(3, pin_memory=True)
y = x.to("cuda")  # sync: blocking-copy

# %% cuda without waiting
x = torch.ones(3)
y = x.cuda(non_blocking=True)

# %% cuda with an index and a flag
x = torch.ones(3)
y = x.cuda(0, True)

# %% cuda with a flag that says to wait
x = torch.ones(3)
y = x.cuda(0, False)  # sync: blocking-copy

# %% to with a flag that says to wait
x = torch.ones(3)
y = x.to("cuda", non_blocking=False)  # sync: blocking-copy

# %% to with a flag by position that says to wait
x = torch.ones(3)
y = x.to("cuda", torch.float16, False)  # sync: blocking-copy
z = x.to("cuda", torch.float16, True)

# %% to with a copy that is asked for
x = torch.ones(3)
y = x.to(torch.ones(3, device="cuda"), False, True)  # sync: blocking-copy

# %% views of pinned memory
x = torch.ones(3, pin_memory=True)
y = x.view(-1).to("cuda")  # sync: blocking-copy
z = x.zero_()

# %% a loader, and batches that are written to
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.ones(8, 3)), batch_size=4, pin_memory=True)
for (x,) in loader:
    y = x.to("cuda")  # sync: blocking-copy
    x.zero_()

# %% to the GPU from the GPU is nothing
x = torch.ones(3, device="cuda")
y = x.to("cuda")
z = x.cuda()

# %% to the device of another on the GPU
x = torch.ones(3, device="cuda")
y = torch.zeros(3, device="cuda").to(x.device)

# %% to the device of another from the host
x = torch.ones(3, device="cuda")
y = torch.zeros(3)
z = y.to(x.device)  # sync: blocking-copy

# %% to another tensor from the host
x = torch.ones(3, device="cuda")
y = torch.zeros(3)
z = y.to(x)  # sync: blocking-copy

# %% from_numpy
a = np.ones(3)
x = torch.from_numpy(a).to("cuda")  # sync: blocking-copy

# %% from_numpy without waiting
a = np.ones(3)
x = torch.from_numpy(a).to("cuda", non_blocking=True)

# %% tensor and then to
x = torch.tensor([1.0, 2.0]).to("cuda")  # sync: blocking-copy

# %% tensor and then to, without waiting
x = torch.tensor([1.0, 2.0]).to("cuda", non_blocking=True)

# %% copy_ from the host
x = torch.ones(3, device="cuda")
x.copy_(torch.zeros(3))  # sync: blocking-copy

# %% copy_ from the host without waiting
x = torch.ones(3, device="cuda")
x.copy_(torch.zeros(3), non_blocking=True)

# %% copy_ on the GPU
x = torch.ones(3, device="cuda")
x.copy_(torch.zeros(3, device="cuda"))

# %% copy_ to the host
x = torch.ones(3, device="cuda")
h = torch.empty(3)
h.copy_(x)  # sync: to-cpu

# %% copy_ into pinned memory without waiting
x = torch.ones(3, device="cuda")
h = torch.empty(3, pin_memory=True)
h.copy_(x, non_blocking=True)

# %% to a dtype of the host
x = torch.ones(3, device="cuda")
y = x.type(torch.LongTensor)  # sync: type-to-cpu

# %% to a dtype
x = torch.ones(3, device="cuda")
y = x.type(torch.long)
z = x.long()
w = x.half()

# %% to a dtype of CUDA
x = torch.ones(3, device="cuda")
y = x.type(torch.cuda.LongTensor)

# %% a dtype of the host for a tensor of the CPU
y = torch.ones(3).type(torch.LongTensor)

# %% a module moves once
model = torch.nn.Linear(3, 3)
model = model.to("cuda")  # sync, not reported: moves a module

# %% a module moves by cuda
model = torch.nn.Linear(3, 3).cuda()  # sync, not reported: moves a module

# %% a dictionary of tensors
batch = {"x": torch.ones(3), "y": torch.zeros(3)}
moved = {k: v.to("cuda") for k, v in batch.items()}  # sync: blocking-copy

# %% a dictionary of tensors without waiting
batch = {"x": torch.ones(3), "y": torch.zeros(3)}
moved = {k: v.to("cuda", non_blocking=True) for k, v in batch.items()}

# %% two at a time
a, b = torch.ones(3), torch.zeros(3)
a, b = a.to("cuda"), b.to("cuda")  # sync: blocking-copy
c = a + b

# %% a helper moves
def move(t, device):
    return t.to(device)  # sync: blocking-copy

move(torch.ones(3), torch.device("cuda"))

# %% a helper moves between CPUs
def move(t, device):
    return t.to(device)

move(torch.ones(3), torch.device("cpu"))

# %% arithmetic with a number of the CPU
x = torch.ones(3, device="cuda")
y = x * torch.tensor(2.0)
z = x + 1

# %% a loader without pinned memory
data = torch.utils.data.TensorDataset(torch.ones(8, 3), torch.zeros(8))
loader = torch.utils.data.DataLoader(data, batch_size=4)  # sync: unpinned-loader
for x, y in loader:
    x = x.to("cuda", non_blocking=True)
    y = y.to("cuda", non_blocking=True)

# %% a loader with pinned memory
data = torch.utils.data.TensorDataset(torch.ones(8, 3), torch.zeros(8))
loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True)
for x, y in loader:
    x = x.to("cuda", non_blocking=True)
    y = y.to("cuda", non_blocking=True)

# %% a loader whose batches stay on the CPU
data = torch.utils.data.TensorDataset(torch.ones(8, 3), torch.zeros(8))
loader = torch.utils.data.DataLoader(data, batch_size=4)
for x, y in loader:
    z = x.sum().item()

# %% a loader, and copies that wait
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.ones(8, 3), torch.zeros(8))
loader = DataLoader(data, batch_size=4, pin_memory=True)
for x, y in loader:
    x = x.to("cuda")  # sync: blocking-copy
    y = y.cuda()  # sync: blocking-copy

# %% pinned memory by a variable
from torch.utils.data import DataLoader, TensorDataset
pin = True
data = TensorDataset(torch.ones(8, 3))
loader = DataLoader(data, batch_size=4, pin_memory=pin)
for (x,) in loader:
    x = x.to("cuda", non_blocking=True)

# %% from a buffer
x = torch.frombuffer(bytearray(16), dtype=torch.float32)
y = x.cuda()  # sync: blocking-copy

# %% an image as an array
a = np.zeros((4, 4, 3), dtype=np.uint8)
x = torch.from_numpy(a).permute(2, 0, 1).float()
y = x.div(255).cuda()  # sync: blocking-copy

# %% stack of host tensors, then one copy
xs = [torch.ones(3) for i in range(2)]
x = torch.stack(xs).cuda()  # sync: blocking-copy

# %% to a device that may be the GPU
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.ones(3)
y = x.to(device)  # sync: blocking-copy

# %% to a device from the command line
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
args = parser.parse_args([])
x = torch.ones(3)
y = x.to(args.device)  # sync: blocking-copy

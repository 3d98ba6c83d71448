# Devices given as numbers and by rank, as scripts for several GPUs give them; see README.md.
import os

import torch
from torch.utils.data import DataLoader, TensorDataset

# %% to a device by its number
x = torch.ones(3)
y = x.to(0)  # sync: blocking-copy

# %% to a device by its number without waiting
x = torch.ones(3)
y = x.to(0, non_blocking=True)

# %% made on a device by its number
x = torch.ones(3, device=0)
y = x.sum().item()  # sync: item

# %% the local rank of torchrun
local_rank = int(os.environ.get("LOCAL_RANK", 0))
x = torch.ones(3)
y = x.to(local_rank)  # sync: blocking-copy

# %% a number of another name
ours = int(os.environ.get("LOCAL_RANK", "0"))
x = torch.ones(3).to(ours)  # sync: blocking-copy
print(x.sum().item())  # sync: item

# %% rank as an argument
def main(rank, world_size):
    x = torch.ones(3)
    y = x.to(rank)  # sync: blocking-copy
    return y * world_size

main(0, 1)

# %% rank as an argument of a function that nothing here calls
def main(rank, world_size):
    x = torch.ones(3)
    y = x.to(rank)  # sync: blocking-copy
    return y * world_size

globals()["main"](0, 1)

# %% rank as an annotated argument
def main(rank: int):
    x = torch.ones(3, device=rank)
    return x.sum().item()  # sync: item

globals()["main"](0)

# %% a device made from text and the rank
rank = int(os.environ.get("RANK", 0))
device = f"cuda:{rank}"
x = torch.ones(3)
y = x.to(device)  # sync: blocking-copy

# %% a device object made from text and the rank
rank = int(os.environ.get("RANK", 0))
device = torch.device(f"cuda:{rank}")
x = torch.ones(3, device=device)
if x.sum() > 1:  # sync: branch
    y = x * 2

# %% a device made by format
rank = int(os.environ.get("RANK", 0))
device = torch.device("cuda:{}".format(rank))
x = torch.ones(3).to(device)  # sync: blocking-copy

# %% a device made by percent
rank = int(os.environ.get("RANK", 0))
x = torch.ones(3).to("cuda:%d" % rank)  # sync: blocking-copy

# %% a device made by addition
rank = int(os.environ.get("RANK", 0))
x = torch.ones(3).to("cuda:" + str(rank))  # sync: blocking-copy

# %% the rank within a host
rank = int(os.environ.get("RANK", 0)) % torch.cuda.device_count()
x = torch.ones(3)
y = x.to(rank)  # sync: blocking-copy

# %% a rank, or the CPU
rank = int(os.environ.get("RANK", 0))
device = rank if torch.cuda.is_available() else "cpu"
x = torch.ones(3)
y = x.to(device)  # sync: blocking-copy

# %% a model on the rank's GPU
rank = int(os.environ.get("LOCAL_RANK", 0))
model = torch.nn.Linear(3, 3).to(rank)  # sync, not reported: moves a module
y = model(torch.ones(2, 3, device=rank))
print(y.sum().item())  # sync: item

# %% a model on the rank's GPU by cuda
rank = int(os.environ.get("LOCAL_RANK", 0))
model = torch.nn.Linear(3, 3)
model.cuda(rank)  # sync, not reported: moves a module
y = model(torch.ones(2, 3, device=rank))
print(y.sum().item())  # sync: item

# %% batches to the rank's GPU
gpu = int(os.environ.get("LOCAL_RANK", 0))
loader = DataLoader(TensorDataset(torch.ones(8, 3), torch.zeros(8)), batch_size=4, pin_memory=True)
for x, y in loader:
    x = x.to(gpu)  # sync: blocking-copy
    y = y.cuda(gpu, non_blocking=True)

# %% batches to the rank's GPU without waiting
gpu = int(os.environ.get("LOCAL_RANK", 0))
loader = DataLoader(TensorDataset(torch.ones(8, 3), torch.zeros(8)), batch_size=4, pin_memory=True)
for x, y in loader:
    x = x.to(gpu, non_blocking=True)
    y = y.to(gpu, non_blocking=True)

# %% text that names the CPU
rank = int(os.environ.get("RANK", 0))
device = f"cpu:{rank}"
x = torch.ones(3).to(device)
y = x.sum().item()

# %% a rank that is printed
rank = int(os.environ.get("RANK", 0))
print(f"rank {rank} of {torch.cuda.device_count()}")
if rank == 0:
    print("first")

# %% a number that is none of a device
rows = int(os.environ.get("ROWS", 3))
x = torch.ones(rows)
y = x.reshape(rows, 1)
print(y.sum().item())

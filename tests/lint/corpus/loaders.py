# Loaders whose batches are on the GPU already, and loaders of other modules; see README.md.
import sys
import types

import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

sys.modules["feed"] = types.ModuleType("feed")
sys.modules["feed"].DataLoader = lambda data, batch_size: list(data.split(batch_size))

# %% a data set on the GPU
x = torch.randn(8, 3, device="cuda")
y = torch.zeros(8, device="cuda")
loader = DataLoader(TensorDataset(x, y), batch_size=4)
for a, b in loader:
    a, b = a.to("cuda"), b.cuda()

# %% batches of a data set on the GPU are read
x = torch.randn(8, 3, device="cuda")
data = TensorDataset(x)
loader = DataLoader(data, batch_size=4)
for (a,) in loader:
    print(a.sum().item())  # sync: item

# %% a class that holds its data on the GPU
class Points(Dataset):
    def __init__(self, count):
        self.x = torch.randn(count, 3, device="cuda")

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index]

loader = DataLoader(Points(8), batch_size=4)
for x in loader:
    x = x.to("cuda")

# %% a class that is given its data on the GPU
class Points(Dataset):
    def __init__(self, x):
        self.x = x

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index]

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(Points(torch.randn(8, 3).to(device, non_blocking=True)), batch_size=4)
for x in loader:
    x = x.to(device)

# %% a class that sends each item
class Points(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        return torch.full((3,), float(index)).to("cuda", non_blocking=True), index

loader = DataLoader(Points(), batch_size=4)
for x, index in loader:
    x = x.to("cuda")

# %% a part of a data set on the GPU
from torch.utils.data import Subset, random_split
data = TensorDataset(torch.randn(8, 3, device="cuda"))
train, test = random_split(data, [6, 2])
for (x,) in DataLoader(train, batch_size=3):
    x = x.cuda()
for (x,) in DataLoader(Subset(data, [0, 1]), batch_size=2):
    x = x.cuda()

# %% a list of items on the GPU
data = [torch.randn(3, device="cuda") for i in range(8)]
for x in DataLoader(data, batch_size=4):
    x = x.to("cuda")

# %% batches that are put together on the GPU
def put_together(items):
    return torch.stack(items).to("cuda", non_blocking=True)

for x in DataLoader([torch.ones(3)] * 8, batch_size=4, collate_fn=put_together):
    x = x.to("cuda")

# %% a data set of the host, by a class
class Points(Dataset):
    def __init__(self, count):
        self.x = torch.randn(count, 3)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index]

loader = DataLoader(Points(8), batch_size=4)  # sync: unpinned-loader
for x in loader:
    x = x.to("cuda")  # sync: blocking-copy

# %% the loader by its module
import torch.utils.data as d
loader = d.DataLoader(d.TensorDataset(torch.ones(8, 3)), batch_size=4)  # sync: unpinned-loader
for (x,) in loader:
    x = x.to("cuda", non_blocking=True)

# %% the loader by another way to its module
from torch.utils import data
loader = data.DataLoader(data.TensorDataset(torch.ones(8, 3)), batch_size=4, pin_memory=True)
for (x,) in loader:
    x = x.to("cuda")  # sync: blocking-copy

# %% another loader of that name
from feed import DataLoader
for x in DataLoader(torch.ones(8, 3), batch_size=4):
    x = x.to("cuda", non_blocking=True)

# Models, loaders and trainers that are imported, so that the file says nothing of what they do; see README.md.
import sys
import types

import torch
from torch.utils.data import DataLoader, TensorDataset

sys.modules["zoo"] = types.ModuleType("zoo")
sys.modules["zoo"].resnet = sys.modules["zoo"].GPT = lambda: torch.nn.Linear(4, 2)


class Prepares:
    """Moves and wraps what it is given, as Accelerate does."""

    device = torch.device("cuda")

    def prepare(self, *given):
        out = []
        for each in given:
            if isinstance(each, torch.nn.Module):
                each = each.to("cuda")  # sync, not reported: moves a module
            elif isinstance(each, DataLoader):
                each = [[x.to("cuda", non_blocking=True) for x in batch] for batch in each]
            out.append(each)
        return out[0] if len(out) == 1 else tuple(out)


sys.modules["accelerate"] = types.ModuleType("accelerate")
sys.modules["accelerate"].Accelerator = Prepares

# %% a model moved where it is made
import zoo
net = zoo.resnet().to("cuda")  # sync, not reported: moves a module
out = net(torch.rand(3, 4, device="cuda"))
print(out.mean().item())  # sync: item
if out.max() > 3:  # sync: branch
    out = out / 3

# %% a model moved by cuda, and what makes it ready
from zoo import resnet
net = resnet().cuda().eval()  # sync, not reported: moves a module
net.train()
scores = net(torch.rand(3, 4, device="cuda"))
print(scores)  # sync: print

# %% a model in half precision
from zoo import resnet
net = resnet().to(torch.device("cuda")).half()  # sync, not reported: moves a module
scores = net(torch.rand(3, 4, device="cuda", dtype=torch.half)).tolist()  # sync: tolist

# %% a model of a trainer, moved where it is made
from zoo import GPT
class Trainer:
    def __init__(self, device):
        self.net = GPT().to(device)  # sync, not reported: moves a module

    def step(self, x):
        loss = self.net(x).mean()
        return loss.item()  # sync: item

Trainer(torch.device("cuda")).step(torch.rand(3, 4, device="cuda"))

# %% a model of a trainer that moves it afterwards
from zoo import GPT
class Trainer:
    def __init__(self, device):
        self.model = GPT()
        self.model.to(device)  # sync, not reported: moves a module

    def step(self, batch):
        loss = self.model(batch).mean()
        if loss > 100:  # sync: branch
            return None
        return loss.item()  # sync: item

Trainer(torch.device("cuda")).step(torch.rand(3, 4, device="cuda"))

# %% a model moved in place, of any name
from zoo import resnet
small = resnet()
small.to("cuda")  # sync, not reported: moves a module
print(f"{small(torch.rand(3, 4, device='cuda')).mean():.3f}")  # sync: format

# %% a model of several GPUs
from zoo import resnet
net = torch.nn.DataParallel(resnet().to("cuda"))  # sync, not reported: moves a module
losses = [net(torch.rand(3, 4, device="cuda")).mean() for i in range(2)]
print(max(losses))  # sync: min-max, print

# %% what a model says of itself
from zoo import resnet
net = resnet().to("cuda")  # sync, not reported: moves a module
if net.training:
    net.eval()
print(net.in_features * 2)
for p in net.parameters():
    p.requires_grad_(False)

# %% a model of the CPU
from zoo import resnet
net = resnet()
out = net(torch.rand(3, 4))
print(out.mean().item())
if out.max() > 3:
    out = out / 3

# %% a model moved to the CPU
from zoo import resnet
net = resnet().to("cpu")
out = net(torch.rand(3, 4))
print(out.mean().item())

# %% Accelerate, and the loss
from accelerate import Accelerator
from zoo import GPT
accelerator = Accelerator()
model = GPT()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.rand(8, 4), torch.zeros(8, dtype=torch.long)), batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    loss = torch.nn.functional.cross_entropy(model(x), y)
    if torch.isnan(loss):  # sync: branch
        break
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss)  # sync: print
print(loss.item())  # sync: item

# %% Accelerate, and a loss that stays
from accelerate import Accelerator
from zoo import GPT
accelerator = Accelerator()
model = GPT()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.rand(8, 4), torch.zeros(8, dtype=torch.long)), batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
total = torch.zeros((), device=accelerator.device)
for step, (x, y) in enumerate(loader):
    loss = torch.nn.functional.cross_entropy(model(x.to(accelerator.device)), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    total += loss.detach()
    print(step, optimizer.param_groups[0]["lr"])

# %% Accelerate in a trainer
from accelerate import Accelerator
class Trainer:
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)

    def evaluate(self, batch):
        return self.model(batch).argmax(-1).tolist()  # sync: tolist

Trainer(torch.nn.Linear(4, 2)).evaluate(torch.rand(3, 4, device="cuda"))

# %% a module of the file, prepared
from accelerate import Accelerator
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, x):
        return x * self.scale.item()  # sync: item

net = Accelerator().prepare(Net())
net(torch.rand(3, 4, device="cuda"))

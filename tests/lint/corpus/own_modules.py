# Modules of the file and where they are, configurations and flags; see README.md.
import torch
from torch import nn

# %% a module of the CPU
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x)

net = Net()
print(net(torch.ones(3)).sum().item())

# %% a module moved to the CPU
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 1)

    def forward(self, x):
        return self.layer(x)

net = Net().to("cpu")
print(net(torch.ones(3)).sum().item())

# %% parameters and buffers of a module of the CPU
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        if self.scale > 3:
            x = x / self.scale.item()
        return x - self.mean

out = Net()(torch.ones(3))
print(out)

# %% modules in modules of the CPU
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x).relu()

print(Outer()(torch.ones(3)).sum().item())

# %% modules in modules of the GPU
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)

class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x).relu()

net = Outer()
net.to("cuda")  # sync, not reported: moves a module
print(net(torch.ones(3, device="cuda")).sum().item())  # sync: item

# %% a module that was on the GPU
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return x * self.scale.item()  # sync: item

net = Net().cuda()  # sync, not reported: moves a module
out = net(torch.ones(3, device="cuda"))
net.cpu()  # sync, not reported: moves a module

# %% a device that is not the default
from dataclasses import dataclass
@dataclass
class Config:
    size: int = 3
    device: str = "cuda"

config = Config(device="cpu")
x = torch.ones(config.size, device=config.device)
print(x.sum().item())

# %% a device that is the default
from dataclasses import dataclass
@dataclass
class Config:
    size: int = 3
    device: str = "cuda"

config = Config(size=4)
x = torch.ones(config.size, device=config.device)
print(x.sum().item())  # sync: item

# %% an object for the device that it is given
class Trainer:
    def __init__(self, device):
        self.device = device

    def run(self):
        x = torch.ones(3, device=self.device)
        print(x.sum().item())

Trainer("cpu").run()

# %% a module that moves itself, and stays
class Net(nn.Module):
    def __init__(self, device="cpu"):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.to(device)

    def forward(self, x):
        return self.layer(x)

    def predict(self, x):
        return self(x).argmax().item()

print(Net().predict(torch.ones(3)))

# %% a flag among the arguments of forward
class Net(nn.Module):
    def forward(self, x, deterministic):
        if deterministic:
            return x
        if not deterministic and x.dim() > 3:
            return x.sum(0)
        return x * 2 if deterministic else x * 3

globals()["Net"]()(torch.ones(3, device="cuda"), True)

# %% a value among the arguments of forward
class Net(nn.Module):
    def forward(self, x, threshold):
        if x.sum() > threshold:  # sync: branch
            return x
        if threshold > 3:  # sync: branch
            return -x
        return x * 2

globals()["Net"]()(torch.ones(3, device="cuda"), torch.full((), 30.0, device="cuda"))

# %% a device that is None unless somebody says otherwise
class Scaled(nn.Module):
    def __init__(self, by, device=None):
        super().__init__()
        self.register_buffer("by", torch.tensor(by, device=device))

    def forward(self, x):
        return x * self.by

scaled = Scaled(3.0)

# %% a device that is None unless somebody says otherwise, and somebody does
class Scaled(nn.Module):
    def __init__(self, by, device=None):
        super().__init__()
        self.register_buffer("by", torch.tensor(by, device=device))  # sync: create-from-host

    def forward(self, x):
        return x * self.by

scaled = Scaled(3.0, device="cuda")

# Steps of training as people write them; see README.md.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(8, 4), torch.randint(2, (8,)))

# %% the running loss
device = torch.device("cuda")
model = nn.Linear(4, 2).to(device)  # sync, not reported: moves a module
criterion = nn.CrossEntropyLoss()
loader = DataLoader(data, batch_size=4, pin_memory=True)
running = 0.0
for x, y in loader:
    x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
    loss = criterion(model(x), y)
    running += loss.item()  # sync: item

# %% the running loss, kept on the device
device = torch.device("cuda")
model = nn.Linear(4, 2).to(device)  # sync, not reported: moves a module
criterion = nn.CrossEntropyLoss()
loader = DataLoader(data, batch_size=4, pin_memory=True)
running = torch.zeros((), device=device)
for x, y in loader:
    x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
    loss = criterion(model(x), y)
    running += loss.detach()

# %% accuracy by item
model = nn.Linear(4, 2).cuda()  # sync, not reported: moves a module
correct = 0
x = torch.rand(4, 4, device="cuda")
y = torch.zeros(4, dtype=torch.long, device="cuda")
pred = model(x).argmax(dim=1)
correct += (pred == y).sum().item()  # sync: item

# %% accuracy kept on the device
model = nn.Linear(4, 2).cuda()  # sync, not reported: moves a module
x = torch.rand(4, 4, device="cuda")
y = torch.zeros(4, dtype=torch.long, device="cuda")
pred = model(x).argmax(dim=1)
correct = (pred == y).sum()

# %% a progress bar
from tqdm import tqdm
bar = tqdm(range(2))
for i in bar:
    loss = torch.ones((), device="cuda") * i
    bar.set_postfix(loss=loss)  # sync: log-value

# %% a progress bar of numbers
from tqdm import tqdm
bar = tqdm(range(2))
for i in bar:
    loss = torch.ones((), device="cuda") * i
    bar.set_postfix(step=i)

# %% a progress bar with a formatted loss
from tqdm import tqdm
bar = tqdm(range(2))
for i in bar:
    loss = torch.ones((), device="cuda") * i
    bar.set_description(f"loss {loss:.2f}")  # sync: format

# %% a writer of scalars
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter()
loss = torch.ones((), device="cuda")
writer.add_scalar("loss", loss, 1)  # sync: log-value

# %% a writer of numbers
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter()
writer.add_scalar("rate", 0.1, 1)

# %% wandb
import wandb
loss = torch.ones((), device="cuda")
wandb.log({"loss": loss})  # sync: log-value

# %% wandb of numbers
import wandb
wandb.log({"epoch": 3, "lr": 0.1})

# %% a module and its forward
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        h = F.relu(self.layer(x))
        scale = h.abs().max().item()  # sync: item
        return h / scale

net = Net().cuda()  # sync, not reported: moves a module
out = net(torch.rand(2, 4, device="cuda"))

# %% a module and its forward on the device
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        h = F.relu(self.layer(x))
        return h / h.abs().max()

net = Net().cuda()  # sync, not reported: moves a module
out = net(torch.rand(2, 4, device="cuda"))

# %% constants made in forward
class Net(nn.Module):
    def forward(self, x):
        w = torch.tensor([1.0, 2.0], device=x.device)  # sync: create-from-host
        return x * w

out = Net()(torch.rand(3, 2, device="cuda"))

# %% constants kept as a buffer
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("w", torch.tensor([1.0, 2.0]))

    def forward(self, x):
        return x * self.w

net = Net().cuda()  # sync, not reported: moves a module
out = net(torch.rand(3, 2, device="cuda"))

# %% a buffer read in forward
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        n = int(self.steps)  # sync: python-scalar
        return x * n

net = Net().cuda()  # sync, not reported: moves a module
out = net(torch.rand(3, 2, device="cuda"))

# %% validation that gathers
model = nn.Linear(4, 2).cuda()  # sync, not reported: moves a module
outs = []
for i in range(2):
    out = model(torch.rand(4, 4, device="cuda"))
    outs.append(out.cpu())  # sync: to-cpu
all_outs = torch.cat(outs).numpy(force=True)

# %% validation that gathers on the device
model = nn.Linear(4, 2).cuda()  # sync, not reported: moves a module
outs = []
with torch.no_grad():
    for i in range(2):
        outs.append(model(torch.rand(4, 4, device="cuda")))
all_outs = torch.cat(outs).cpu().numpy()  # sync: to-cpu

# %% a step as a function
def train_step(model, batch, optimizer, device):
    x, y = batch
    x = x.to(device)  # sync: blocking-copy
    y = y.to(device)  # sync: blocking-copy
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()  # sync: item

model = nn.Linear(4, 2).to("cuda")  # sync, not reported: moves a module
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batch = (torch.rand(4, 4), torch.zeros(4, dtype=torch.long))
train_step(model, batch, optimizer, torch.device("cuda"))

# %% a step as a function, on the device
def train_step(model, batch, optimizer, device):
    x, y = batch
    x = x.to(device, non_blocking=True)
    y = y.to(device, non_blocking=True)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()

model = nn.Linear(4, 2).to("cuda")  # sync, not reported: moves a module
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batch = (torch.rand(4, 4), torch.zeros(4, dtype=torch.long))
train_step(model, batch, optimizer, torch.device("cuda"))

# %% the norm of gradients
model = nn.Linear(4, 2).cuda()  # sync, not reported: moves a module
model(torch.rand(4, 4, device="cuda")).sum().backward()
total = 0.0
for p in model.parameters():
    total += p.grad.norm().item() ** 2  # sync: item

# %% the norm of gradients on the device
model = nn.Linear(4, 2).cuda()  # sync, not reported: moves a module
model(torch.rand(4, 4, device="cuda")).sum().backward()
total = torch.stack([p.grad.norm() for p in model.parameters()]).norm()

# %% gradients that are not finite
model = nn.Linear(4, 2).cuda()  # sync, not reported: moves a module
model(torch.rand(4, 4, device="cuda")).sum().backward()
for p in model.parameters():
    if p.grad is not None and not torch.isfinite(p.grad).all():  # sync: branch
        p.grad.zero_()

# %% greedy decoding
model = nn.Embedding(8, 8).cuda()  # sync, not reported: moves a module
ids = torch.zeros(1, 1, dtype=torch.long, device="cuda")
for i in range(3):
    logits = model(ids)[:, -1]
    next_id = logits.argmax(dim=-1, keepdim=True)
    if next_id.item() == 7:  # sync: item
        break
    ids = torch.cat([ids, next_id], dim=1)

# %% decoding of a fixed length
model = nn.Embedding(8, 8).cuda()  # sync, not reported: moves a module
ids = torch.zeros(1, 1, dtype=torch.long, device="cuda")
done = torch.zeros(1, dtype=torch.bool, device="cuda")
for i in range(3):
    logits = model(ids)[:, -1]
    next_id = logits.argmax(dim=-1, keepdim=True)
    done |= next_id[:, 0] == 7
    ids = torch.cat([ids, next_id.masked_fill(done[:, None], 0)], dim=1)

# %% decoding that stops when all are done
done = torch.zeros(1, dtype=torch.bool, device="cuda")
for i in range(2):
    done |= torch.ones(1, dtype=torch.bool, device="cuda")
    if done.all():  # sync: branch
        break

# %% printed now and then
x = torch.ones(3, device="cuda")
for step in range(3):
    loss = (x * step).sum()
    if step % 2 == 0:
        print(f"step {step} loss {loss.item():.3f}")  # sync: item

# %% several values, each read
x = torch.ones(3, device="cuda")
a = x.sum().item()  # sync: item
b = x.mean().item()  # sync: item

# %% several values, read at once
x = torch.ones(3, device="cuda")
a, b = torch.stack([x.sum(), x.mean()]).tolist()  # sync: tolist

# %% a moving average
x = torch.ones(3, device="cuda")
average = torch.zeros(3, device="cuda")
average.mul_(0.9).add_(x, alpha=0.1)
average.lerp_(x, 0.1)

# %% a learning rate by a schedule
w = nn.Parameter(torch.ones(3, device="cuda"))
optimizer = torch.optim.SGD([w], lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
w.sum().backward()
optimizer.step()
scheduler.step()
rate = scheduler.get_last_lr()[0]
print(f"rate {rate:.3f}")

# %% a cast under autocast
model = nn.Linear(4, 2).cuda()  # sync, not reported: moves a module
with torch.autocast("cuda", dtype=torch.float16):
    out = model(torch.rand(4, 4, device="cuda"))
v = out.float().mean().item()  # sync: item

# %% a sequential model
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).to("cuda")  # sync, not reported: moves a module
y = model(torch.rand(2, 4, device="cuda"))
print(y.mean())  # sync: print

# %% a model of the CPU
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
y = model(torch.rand(2, 4))
print(y.mean(), y.sum().item())

# %% parameters of a model
model = nn.Linear(4, 2).cuda()  # sync, not reported: moves a module
n = sum(p.numel() for p in model.parameters())
print(n)
if next(model.parameters()).is_cuda:
    n = 0

# %% einsum and matmul
a = torch.rand(3, 3, device="cuda")
b = torch.einsum("ij,jk->ik", a, a)
if b.trace() > 0:  # sync: branch
    b = -b

# %% annotated tensors of CUDA
def loss_value(loss: "torch.cuda.FloatTensor") -> float:
    return loss.item()  # sync: item

loss_value(torch.ones((), device="cuda"))

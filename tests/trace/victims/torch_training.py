"""A training loop with the usual mistakes, or ("repaired") without them. usage: torch_training.py [STEPS] [repaired]"""

import sys
import time

import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
repaired = "repaired" in sys.argv
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(),
                            torch.nn.Linear(512, 10)).cuda()  # fmt: skip
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batches = [(torch.randn(64, 256), torch.randint(10, (64,))) for _ in range(16)]
if repaired:
    batches = [(x.pin_memory(), y.pin_memory()) for x, y in batches]
losses = []


def train(number):
    x, y = batches[number % len(batches)]
    if repaired:
        x, y = x.to("cuda", non_blocking=True), y.to("cuda", non_blocking=True)
    else:
        x = x.to("cuda")
        y = y.to("cuda")
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if repaired:
        losses.append(loss.detach())
    else:
        losses.append(loss.item())
        if not torch.isfinite(loss):
            raise SystemExit("diverged")
        torch.cuda.synchronize()


for number in range(20):
    train(number)
torch.cuda.synchronize()
begin = time.perf_counter()
for number in range(steps):
    train(number)
torch.cuda.synchronize()
print(f"{steps} steps, {1e6 * (time.perf_counter() - begin) / steps:.1f} us each")

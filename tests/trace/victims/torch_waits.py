"""A PyTorch program with one wait of each kind in every step. A line that waits says so: "# waits: N CLASS", N times a step.
usage: torch_waits.py [STEPS]"""

import sys
import time

import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
device = "cuda"
weights = torch.randn(2048, 2048, device=device)
rows = torch.randn(1024, 2048)  # pageable
pinned = torch.randn(1024, 2048).pin_memory()
history = []


def helper(tensor):
    return tensor.sum().item()  # waits: 1 unknown


def busy(x):
    for _ in range(4):
        x = torch.tanh(x @ weights) * 0.5
    return x


def step(number):
    x = rows.to(device)  # waits: 1 pageable
    x = busy(x)
    y = busy(pinned.to(device, non_blocking=True))
    loss = x.square().mean()
    if loss.item() > 1e6:  # waits: 1 control flow
        raise SystemExit("diverged")
    y = busy(y)
    history.append(y.mean().item())  # waits: 1 deferrable
    found = torch.nonzero(y[0] > 0)  # waits: 1 dynamic shape
    y = busy(y) + found.sum()
    torch.cuda.synchronize()  # waits: 1 unknown
    helper(y)
    first, second = y[0, 0], y[0, 1]
    print(f"{first.item():.3f}", end=" ", file=sys.stderr)  # waits: 1 deferrable
    print(f"{second.item():.3f}", end=" ", file=sys.stderr)  # waits: 1 deferrable
    back = busy(y).cpu()  # waits: 1 pageable
    event = torch.cuda.Event()
    y = busy(y)
    event.record()
    event.synchronize()  # waits: 1 unknown
    y = busy(y)
    event.record()
    while not event.query():  # waits: 1 control flow
        pass
    return back


begin = time.perf_counter()
for number in range(steps):
    step(number)
print(f"\n{steps} steps, {1e3 * (time.perf_counter() - begin) / steps:.3f} ms each")

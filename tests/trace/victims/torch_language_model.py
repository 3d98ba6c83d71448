"""A training loop with the mistakes of a first version, or ("repaired") with what `tutti trace` advises at each, and nothing else.
usage: torch_language_model.py [STEPS] [repaired]

Both do the same work on the host and on the GPU: only where the host waits differs. A line that waits says so."""

import sys
import time

import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
repaired = "repaired" in sys.argv
torch.manual_seed(0)
words = [f"word{i}" for i in range(4096)]
number_of = {word: number for number, word in enumerate(words)}
text = [words[(7 * i * i + 3 * i) % len(words)] for i in range(20_000)]
rows, columns, width = 64, 256, 1024


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.wide = torch.nn.Linear(width, 4 * width)
        self.narrow = torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.narrow(torch.nn.functional.gelu(self.wide(self.norm(x))))


model = torch.nn.Sequential(torch.nn.Embedding(len(words), width), Block(), torch.nn.Linear(width, 512)).cuda()
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.01)
losses, hits = [], []


def batch(number):
    """Words to numbers, on the host, as a tokenizer does."""
    begin = (number * 97) % (len(text) - rows * columns - 1)
    ids = [number_of[word] for word in text[begin : begin + rows * columns + 1]]
    return torch.tensor(ids[:-1]).view(rows, columns), torch.tensor(ids[1:]).view(rows, columns) % 512


def gradients(x, y, smoothing):
    optimizer.zero_grad()
    logits = model(x)
    loss = torch.nn.functional.cross_entropy(logits.view(-1, 512), y.view(-1)) + smoothing * logits.square().mean()
    loss.backward()
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm([each.grad for each in parameters])))
    return loss, norm, (logits.argmax(-1) == y).sum()


def train(number):
    x, y = batch(number)
    x = x.to("cuda")  # waits: pageable
    y = y.to("cuda")  # waits: pageable
    smoothing = torch.tensor(0.1 * 0.99**number, device="cuda")  # waits: pageable
    loss, norm, right = gradients(x, y, smoothing)
    if norm.item() > 1e-6:  # waits: control flow
        torch._foreach_mul_([each.grad for each in parameters], 1e-6 / norm)
    optimizer.step()
    losses.append(loss.item())  # waits: deferrable
    hits.append(right.item())  # waits: deferrable
    torch.cuda.synchronize()  # waits: no-op


def train_repaired(number):
    x, y = batch(number)
    x = x.pin_memory().to("cuda", non_blocking=True)
    y = y.pin_memory().to("cuda", non_blocking=True)
    smoothing = torch.tensor(0.1 * 0.99**number).pin_memory().to("cuda", non_blocking=True)
    loss, norm, right = gradients(x, y, smoothing)
    torch._foreach_mul_([each.grad for each in parameters], torch.where(norm > 1e-6, 1e-6 / norm, 1.0))
    optimizer.step()
    losses.append(loss.detach())
    hits.append(right.detach())


one_step = train_repaired if repaired else train
for number in range(10):
    one_step(number)
torch.cuda.synchronize()
begin = time.perf_counter()
for number in range(steps):
    one_step(number)
torch.cuda.synchronize()
took = time.perf_counter() - begin
last = [float(loss) for loss in losses[-3:]]
print(f"{steps} steps, {1e6 * took / steps:.1f} us each; losses {last}, {int(hits[-1])} right")

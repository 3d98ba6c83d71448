"""Waits in a backward pass, in a thread, in a generator, in compiled code, and in a child process. usage: torch_threads.py [child]"""

import subprocess
import sys
import threading

import torch


class Reads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        gradient.sum().item()  # waits in backward
        return gradient * 2


def generator(x):
    for row in x[:3]:
        yield row.sum().item()  # waits in a generator


def in_thread(x):
    x.sum().item()  # waits in a thread


x = torch.randn(64, 64, device="cuda", requires_grad=True)
mask = x > 0
if "child" in sys.argv:
    x.sum().item()  # waits in a child
    sys.exit()
for _ in range(5):
    Reads.apply(x).sum().backward()
    x[mask].sum().backward()  # native: the backward of a mask
    list(generator(x.detach()))
    thread = threading.Thread(target=in_thread, args=(x.detach(),))
    thread.start()
    thread.join()
    [(lambda: x.sum().item())() for _ in range(2)]  # waits in a comprehension
try:
    compiled = torch.compile(lambda x: (x * 2 + 1).sum())
    for _ in range(3):
        compiled(x.detach()).item()  # waits after compiled code
except Exception as error:
    print("no torch.compile:", str(error)[:200])
subprocess.run([sys.executable, __file__, "child"], check=True)

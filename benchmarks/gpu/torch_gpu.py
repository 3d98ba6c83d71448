#!/usr/bin/env python3
"""The rows of gpu_benchmark with PyTorch on one GPU: lines "torch.name value unit", medians. Exit 77: it cannot run here.
usage: torch_gpu.py [host_side|throughput|steps|graphs]..."""

import statistics
import sys
import time

try:
    import torch
except ImportError:
    sys.exit(77)
if not torch.cuda.is_available():
    sys.exit(77)

torch.set_grad_enabled(False)
torch.backends.cuda.matmul.allow_tf32 = False
sync = torch.cuda.synchronize
GPU = "cuda"
IN_QUEUE = 300


def now():
    return time.perf_counter() * 1e6


def show(name, value, unit):
    print(f"torch.{name} {value:.6g} {unit}", flush=True)


def median(sample, samples):
    for _ in range(samples // 10 + 1):
        sample()
    return statistics.median(sample() for _ in range(samples))


def per_call(function, calls):
    """Host microseconds per call, with what was enqueued drained outside the timing."""
    sync()
    start = now()
    for _ in range(calls):
        function()
    end = now()
    sync()
    return (end - start) / calls


def latency(function, before=sync):
    before()
    start = now()
    function()
    return now() - start


def device_seconds(function, samples=9, calls=5):
    for _ in range(5):
        function()
    times = []
    for _ in range(samples):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            function()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / calls)
    return statistics.median(times)


def random(*shape, low=-1.0):
    return torch.empty(*shape, device=GPU).uniform_(low, 1.0)


def host_side():
    a, b = random(32, 32), random(32, 32)
    assert torch.equal((a + b).cpu(), a.cpu() + b.cpu())
    show("enqueue_add", median(lambda: per_call(lambda: a + b, IN_QUEUE), 61), "us")
    event = torch.cuda.Event()
    show("record_event", median(lambda: per_call(event.record, IN_QUEUE), 61), "us")
    show("allocate_4k", median(lambda: per_call(lambda: torch.empty(32, 32, device=GPU), 1000), 31), "us")

    def mixed():
        held = [None] * 50
        start = now()
        for i in range(1000):
            held[i * 31 % 50] = None
            held[i * 31 % 50] = torch.empty(i * 7919 % 100000 + 1, device=GPU)
        return (now() - start) / 1000

    show("allocate_mixed", median(mixed, 15), "us")
    scalar = a.sum()
    show("item", median(lambda: latency(scalar.item), 1001), "us")
    show("add_sync", median(lambda: latency(lambda: (a + b, sync())), 1001), "us")
    show("add_stream_sync", median(lambda: latency(lambda: (a + b, torch.cuda.current_stream().synchronize())), 1001), "us")
    show("sync_idle", median(lambda: latency(sync), 1001), "us")


def late_reads():
    """One value per step, copied into pinned memory and read while the next step runs."""
    steps = 20
    x = random(2048, 2048)
    pinned = [torch.empty((), pin_memory=True) for _ in range(2)]
    events = [torch.cuda.Event() for _ in range(2)]

    def step(reads):
        sync()
        start = now()
        for i in range(steps):
            loss = (x @ x).sum()
            if not reads:
                continue
            pinned[i % 2].copy_(loss, non_blocking=True)
            events[i % 2].record()
            if i > 0:
                events[1 - i % 2].synchronize()
                pinned[1 - i % 2].item()
        sync()
        return (now() - start) / steps

    show("late_read_extra", median(lambda: -step(False) + step(True), 31), "us")


def products():
    n = 8192
    for name, dtype, tf32 in (("bf16", torch.bfloat16, False), ("f32", torch.float32, False), ("tf32", torch.float32, True)):
        a, b = random(n, n).to(dtype), random(n, n).to(dtype)
        torch.backends.cuda.matmul.allow_tf32 = tf32
        seconds = device_seconds(lambda: a @ b, 9, 8)
        torch.backends.cuda.matmul.allow_tf32 = False
        show(f"matmul_{name}", 2 * n**3 / seconds / 1e12, "TFLOP/s")


def passes():
    n = 1 << 28
    x, y = random(n, low=0.0), random(n, low=0.0)
    for name, moved, function in (
        ("sum_1g", 4 * n, x.sum),
        ("copy_1g", 8 * n, x.clone),
        ("add_1g", 12 * n, lambda: x + y),
        ("exp_1g", 8 * n, lambda: torch.exp(x)),
    ):
        show(name, moved / device_seconds(function) / 1e12, "TB/s")


def host_copies():
    """Into memory it already has: its best case."""
    n = 64 << 20
    on_gpu = random(n)
    pageable, target = on_gpu.cpu(), torch.empty_like(on_gpu)
    pinned = pageable.pin_memory()
    for name, to, source in (
        ("h2d_pinned", target, pinned),
        ("d2h_pinned", pinned, on_gpu),
        ("h2d_pageable", target, pageable),
        ("d2h_pageable", pageable, on_gpu),
    ):
        show(name, 4 * n / median(lambda: latency(lambda: (to.copy_(source, non_blocking=True), sync())), 9) / 1e3, "GB/s")
        assert torch.equal(to.cpu(), source.cpu())


def random_squares():
    def loop(syncs):
        sync()
        start = now()
        for _ in range(1000):
            x = torch.rand(1024, 1024, device=GPU)
            y = torch.mm(x, x)  # noqa: F841: it lives until the next one is there, as in the program this is taken from
            if syncs:
                sync()
        sync()
        return (now() - start) / 1e3

    show("random_squares", median(lambda: loop(False), 5), "ms")
    show("random_squares_synced", median(lambda: loop(True), 5), "ms")


SMALL, LARGE = (64, (256, 512, 512, 10)), (4096, (1024, 4096, 4096, 1000))


def training_step(batch, widths, **options):
    """A step as a program writes it: autograd and torch.optim.SGD."""
    linear = [torch.nn.Linear(a, b) for a, b in zip(widths, widths[1:])]
    network = torch.nn.Sequential(linear[0], torch.nn.ReLU(), linear[1], torch.nn.ReLU(), linear[2]).to(GPU)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, **options)
    x, labels = torch.randn(batch, widths[0], device=GPU), torch.randint(widths[-1], (batch,), device=GPU)

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(network(x), labels).backward()
        optimizer.step()

    return step


def steps():
    for name, size, tf32, samples in (("step_small", SMALL, False, 31), ("step_small_tf32", SMALL, True, 15), ("step_large", LARGE, True, 15)):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        torch.cuda.empty_cache()
        with torch.enable_grad():
            step = training_step(*size)
            for _ in range(5):
                step()
            sync()
            torch.cuda.reset_peak_memory_stats()
            for _ in range(3):
                step()
            sync()
            show(f"{name}_peak", torch.cuda.max_memory_allocated() / 2**20, "MiB")
            enqueue, whole = [], []
            for _ in range(samples):
                sync()
                start = now()
                for _ in range(10):
                    step()
                enqueue.append((now() - start) / 10)
                sync()
                whole.append((now() - start) / 10)
            show(f"{name}_enqueue", statistics.median(enqueue), "us")
            show(name, statistics.median(whole), "us")
        torch.backends.cuda.matmul.allow_tf32 = False


def graph_of(function):
    """function as a CUDA graph, after the warm-up that capture wants."""
    beside = torch.cuda.Stream()
    with torch.cuda.stream(beside):
        for _ in range(3):
            function()
    sync()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph


def replays(name, function, samples, calls):
    def sample():
        sync()
        start = now()
        for _ in range(calls):
            function()
        sync()
        return (now() - start) / calls

    show(name, median(sample, samples), "us")


def graphs():
    for name, size, tf32 in (("captured_small", SMALL, False), ("captured_small_tf32", SMALL, True), ("captured_large", LARGE, True)):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        with torch.enable_grad():
            replays(name, graph_of(training_step(*size, foreach=True)).replay, 15, 50 if size is SMALL else 10)
        torch.backends.cuda.matmul.allow_tf32 = False
    x = torch.ones(32, 32, device=GPU)

    def small_ops():
        y = x
        for _ in range(100):
            y = y + x

    replays("small_ops", graph_of(small_ops).replay, 31, 10)


def chain():
    operands = [random(16 << 20) for _ in range(5)]

    def eager(x, w, b, m, r):
        return torch.nn.functional.gelu(x * w + b) * m + r

    replays("chain_eager", lambda: eager(*operands), 15, 20)
    compiled = torch.compile(eager)
    replays("chain", lambda: compiled(*operands), 15, 20)


GROUPS = {
    "host_side": (host_side, late_reads),
    "throughput": (products, passes, host_copies, random_squares),
    "steps": (steps,),
    "graphs": (graphs, chain),
}
print(f"# torch {torch.__version__}")
failed = False
for rows in [rows for group in sys.argv[1:] or GROUPS for rows in GROUPS[group]]:
    try:
        rows()
    except Exception as error:  # one group that fails leaves the others
        print(f"torch_gpu: {rows.__name__}: {error!r}", file=sys.stderr)
        failed = True
sys.exit(1 if failed else 0)

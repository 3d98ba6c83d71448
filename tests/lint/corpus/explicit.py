# Explicit synchronizes, checks that wait, the allocator; see README.md.
import threading

import torch
import torch.distributions as D
from torch.distributions import Categorical, Normal

# %% synchronize
x = torch.ones(3, device="cuda")
torch.cuda.synchronize()  # sync: synchronize

# %% synchronize with a device
x = torch.ones(3, device="cuda")
torch.cuda.synchronize(device=0)  # sync: synchronize

# %% synchronize by another name
from torch.cuda import synchronize
x = torch.ones(3, device="cuda")
synchronize()  # sync: synchronize

# %% synchronize of a stream
s = torch.cuda.Stream()
s.synchronize()  # sync: synchronize

# %% synchronize of the current stream
torch.cuda.current_stream().synchronize()  # sync: synchronize

# %% synchronize of an event
e = torch.cuda.Event()
e.record()
e.synchronize()  # sync: synchronize

# %% wait of an event orders streams
e = torch.cuda.Event()
e.record()
e.wait()
torch.cuda.current_stream().wait_event(e)

# %% wait_stream orders streams
s = torch.cuda.Stream()
s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s):
    x = torch.ones(3, device="cuda")
torch.cuda.current_stream().wait_stream(s)

# %% query asks
e = torch.cuda.Event()
e.record()
done = e.query()

# %% synchronize of something else
class Clock:
    def synchronize(self):
        return 1

Clock().synchronize()

# %% a thread's event and join
e = threading.Event()
e.set()
e.wait()

# %% timing by events
start = torch.cuda.Event(enable_timing=True)
end = torch.cuda.Event(enable_timing=True)
start.record()
x = torch.ones(3, device="cuda") * 2
end.record()
end.synchronize()  # sync: synchronize
t = start.elapsed_time(end)

# %% accelerator
x = torch.ones(3, device="cuda")
torch.accelerator.synchronize()  # sync: synchronize

# %% empty_cache
x = torch.ones(1 << 24, device="cuda")
del x
torch.cuda.empty_cache()  # sync: empty-cache

# %% figures of memory
n = torch.cuda.memory_allocated() + torch.cuda.max_memory_allocated()
torch.cuda.reset_peak_memory_stats()

# %% properties of the device
ok = torch.cuda.is_available() and torch.cuda.device_count() > 0
name = torch.cuda.get_device_name(0)
torch.cuda.set_device(0)

# %% seeds
torch.manual_seed(0)
torch.cuda.manual_seed_all(0)

# %% inv
a = torch.eye(3, device="cuda")
b = torch.linalg.inv(a)  # sync: linalg-check

# %% inverse as a method
a = torch.eye(3, device="cuda")
b = a.inverse()  # sync: linalg-check

# %% inv of the CPU
b = torch.linalg.inv(torch.eye(3))

# %% inv without the check
a = torch.eye(3, device="cuda")
b, info = torch.linalg.inv_ex(a)

# %% solve
a = torch.eye(3, device="cuda")
b = torch.linalg.solve(a, torch.ones(3, device="cuda"))  # sync: linalg-check

# %% cholesky
a = torch.eye(3, device="cuda")
b = torch.linalg.cholesky(a)  # sync: linalg-check

# %% cholesky without the check
a = torch.eye(3, device="cuda")
b, info = torch.linalg.cholesky_ex(a)

# %% eigh
a = torch.eye(3, device="cuda")
w, v = torch.linalg.eigh(a)  # sync: linalg-check

# %% svd
a = torch.rand(3, 3, device="cuda")
u, s, v = torch.linalg.svd(a)  # sync: linalg-check

# %% norms and products
a = torch.eye(3, device="cuda")
n = torch.linalg.norm(a)
m = a @ a
k = torch.linalg.vector_norm(a)

# %% det reads nothing
a = torch.eye(3, device="cuda")
d = torch.linalg.det(a)

# %% a distribution that validates
mu = torch.zeros(3, device="cuda")
sigma = torch.ones(3, device="cuda")
d = Normal(mu, sigma)  # sync: distribution-check

# %% a distribution that does not validate
mu = torch.zeros(3, device="cuda")
sigma = torch.ones(3, device="cuda")
d = Normal(mu, sigma, validate_args=False)
s = d.rsample()
l = d.log_prob(s)

# %% a categorical distribution
p = torch.ones(4, device="cuda") / 4
d = Categorical(probs=p)  # sync: distribution-check

# %% log_prob validates its value
d = D.Normal(torch.zeros(3, device="cuda"), torch.ones(3, device="cuda"))  # sync: distribution-check
s = d.sample()  # sync: sampling-check
l = d.log_prob(s)  # sync: distribution-check

# %% a distribution on the CPU
d = Normal(torch.zeros(3), torch.ones(3))
l = d.log_prob(d.sample())

# %% multinomial
p = torch.ones(4, device="cuda")
i = torch.multinomial(p, 1)

# %% multinomial of the CPU
i = torch.multinomial(torch.ones(4), 1)

# %% the exponential trick
p = torch.ones(4, device="cuda")
i = (p / torch.empty_like(p).exponential_()).argmax()

# %% normal with a tensor of deviations
m = torch.zeros(4, device="cuda")
s = torch.ones(4, device="cuda")
x = torch.normal(m, s)  # sync: sampling-check

# %% randn times a deviation
s = torch.ones(4, device="cuda")
x = torch.randn(4, device="cuda") * s

# %% normal with numbers
x = torch.normal(0.0, 1.0, (3,), device="cuda")

# %% bernoulli and dropout
p = torch.full((4,), 0.5, device="cuda")
x = torch.bernoulli(p)
y = torch.nn.functional.dropout(p, 0.5)

# %% clipping of gradients
w = torch.nn.Parameter(torch.ones(3, device="cuda"))
w.sum().backward()
torch.nn.utils.clip_grad_norm_([w], 1.0)

# %% clipping that raises
w = torch.nn.Parameter(torch.ones(3, device="cuda"))
w.sum().backward()
torch.nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)  # sync: clip-grad-check

# %% a scaler's step
w = torch.nn.Parameter(torch.ones(3, device="cuda"))
optimizer = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cuda")
scaler.scale(w.sum()).backward()
scaler.step(optimizer)  # sync: grad-scaler
scaler.update()

# %% a scaler's step of an optimizer that is fused
w = torch.nn.Parameter(torch.ones(3, device="cuda"))
optimizer = torch.optim.AdamW([w], lr=0.1, fused=True)
scaler = torch.amp.GradScaler("cuda")
scaler.scale(w.sum()).backward()
scaler.step(optimizer)
scaler.update()

# %% a scaler that is off
w = torch.nn.Parameter(torch.ones(3, device="cuda"))
optimizer = torch.optim.SGD([w], lr=0.1)
scaler = torch.amp.GradScaler("cuda", enabled=False)
scaler.scale(w.sum()).backward()
scaler.step(optimizer)
scaler.update()
print(scaler.get_scale())

# %% the scale of a scaler
w = torch.nn.Parameter(torch.ones(3, device="cuda"))
optimizer = torch.optim.AdamW([w], lr=0.1, fused=True)
scaler = torch.amp.GradScaler("cuda")
scaler.scale(w.sum()).backward()
scaler.step(optimizer)
scaler.update()
print(scaler.get_scale())  # sync: grad-scaler
state = scaler.state_dict()  # sync: grad-scaler

# %% a step without a scaler
w = torch.nn.Parameter(torch.ones(3, device="cuda"))
optimizer = torch.optim.SGD([w], lr=0.1)
w.sum().backward()
optimizer.step()
optimizer.zero_grad()

# %% a barrier
import torch.distributed as dist
dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29511", rank=0, world_size=1)
x = torch.ones(3, device="cuda")
dist.all_reduce(x)  # sync, not reported: the first collective connects
dist.barrier()  # sync: barrier
dist.destroy_process_group()  # sync, not reported: the end

# %% all_reduce orders streams
import torch.distributed as dist
dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29512", rank=0, world_size=1)
x = torch.ones(3, device="cuda")
dist.all_reduce(x)  # sync, not reported: the first collective connects
work = dist.all_reduce(x, async_op=True)
work.wait()
dist.destroy_process_group()  # sync, not reported: the end

# %% objects between ranks
import torch.distributed as dist
dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29513", rank=0, world_size=1)
found = [None]
dist.all_gather_object(found, {"a": 1})  # sync: object-collective
dist.destroy_process_group()  # sync, not reported: the end

# %% a barrier of threads
b = threading.Barrier(1)
b.wait()

# %% allowed with a reason
x = torch.ones(3, device="cuda")
v = x.sum().item()  # tutti: allow sync (the end of the run)

# %% synchronize in a helper
def wait():
    torch.cuda.synchronize()  # sync: synchronize

wait()

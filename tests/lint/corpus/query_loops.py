# Loops over query(), which hold the host up without a call that blocks; see README.md.
import asyncio
import time

import torch

# %% a loop over an event
x = torch.ones(3, device="cuda") * 2
e = torch.cuda.Event()
e.record()
while not e.query():  # sync: query-loop
    pass

# %% a loop over a stream
s = torch.cuda.Stream()
while not s.query(): pass  # sync: query-loop

# %% a loop over the current stream
x = torch.ones(3, device="cuda") * 2
while torch.cuda.current_stream().query() is False:  # sync: query-loop
    continue

# %% a loop that sleeps
e = torch.cuda.Event()
e.record()
while not e.query():  # sync: query-loop
    time.sleep(0.0001)

# %% a loop that is left when the event is done
e = torch.cuda.Event()
e.record()
while True:
    if e.query():  # sync: query-loop
        print("done")
        break

# %% a loop that keeps the answer
e = torch.cuda.Event()
e.record()
done = False
while not done:
    done = e.query()  # sync: query-loop

# %% a loop over several events
events = [torch.cuda.Event() for _ in range(3)]
for e in events:
    e.record()
while not all(e.query() for e in events):  # sync: query-loop
    pass

# %% a loop over those that are left
left = [torch.cuda.Event() for _ in range(3)]
while left:
    left = [e for e in left if not e.query()]  # sync: query-loop

# %% a loop with a deadline
e = torch.cuda.Event()
e.record()
end = time.monotonic() + 60
while not e.query():  # sync: query-loop
    if time.monotonic() > end:
        raise TimeoutError("the device hangs")

# %% a loop that counts its turns
e = torch.cuda.Event()
e.record()
turns = 0
while not e.query():  # sync: query-loop
    turns += 1

# %% a loop in a function
def wait(event):
    while not event.query():  # sync: query-loop
        pass

e = torch.cuda.Event()
e.record()
wait(e)

# %% a loop over an attribute
class Step:
    def __init__(self):
        self.done = torch.cuda.Event()

    def wait(self):
        while not self.done.query():  # sync: query-loop
            pass

step = Step()
step.done.record()
step.wait()

# %% a loop after a batch
e = torch.cuda.Event()
for batch in range(3):
    x = torch.ones(3, device="cuda") * batch
    e.record()
    while not e.query():  # sync: query-loop
        pass

# %% asked once
e = torch.cuda.Event()
e.record()
if e.query():
    x = torch.ones(3, device="cuda")

# %% asked once in each turn of other work
e = torch.cuda.Event()
e.record()
batches = []
while not e.query():
    batches.append(torch.ones(3))

# %% asked between launches
e = torch.cuda.Event()
y = torch.ones(3, device="cuda")
e.record()
while not e.query():
    y = y * 2

# %% asked between launches in place
e = torch.cuda.Event()
y = torch.ones(3, device="cuda")
e.record()
while not e.query():
    y *= y

# %% asked in a loop over batches
e = torch.cuda.Event()
e.record()
done = 0
for batch in range(3):
    x = torch.ones(3, device="cuda") * batch
    if e.query():
        done += 1

# %% each event asked once
events = [torch.cuda.Event() for _ in range(3)]
ready = [e.query() for e in events]
for e in events:
    if not e.query():
        break

# %% what is done is taken from the front
pending = [torch.cuda.Event() for _ in range(3)]
while pending and pending[0].query():
    pending.pop(0)

# %% other tasks run meanwhile
async def wait(e):
    while not e.query():
        await asyncio.sleep(0)

e = torch.cuda.Event()
e.record()
asyncio.run(wait(e))

# %% its caller works meanwhile
def turns(e):
    while not e.query():
        yield 1

e = torch.cuda.Event()
e.record()
x = [torch.ones(3) for _ in turns(e)]

# %% asked after the loop
e = torch.cuda.Event()
n = 0
while n < 3:
    n += 1
else:
    done = e.query()

# %% another thing's query
class Table:
    rows = 3

    def query(self):
        self.rows -= 1
        return self.rows == 0

table = Table()
while not table.query():
    pass

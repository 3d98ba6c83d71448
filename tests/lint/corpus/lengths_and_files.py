# Files, lengths that the host needs, pinned memory; see README.md.
import io

import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence

# %% saved in a loop
x = torch.ones(3, device="cuda")
for step in range(2):
    torch.save({"x": x}, io.BytesIO())  # sync: save

# %% a model saved in a loop
model = torch.nn.Linear(3, 3).to("cuda")  # sync, not reported: moves a module
for epoch in range(2):
    torch.save(model.state_dict(), io.BytesIO())  # sync: save

# %% a model of the CPU saved in a loop
model = torch.nn.Linear(3, 3)
for epoch in range(2):
    torch.save(model.state_dict(), io.BytesIO())

# %% saved once
x = torch.ones(3, device="cuda")
torch.save(x, io.BytesIO())  # sync, not reported: once, at the end

# %% numbers saved in a loop
for step in range(2):
    torch.save({"step": step}, io.BytesIO())

# %% sequences packed out of order
x = torch.ones(2, 4, 3, device="cuda")
packed = pack_padded_sequence(x, torch.tensor([2, 4]), batch_first=True, enforce_sorted=False)  # sync: host-lengths

# %% sequences packed in order
x = torch.ones(2, 4, 3, device="cuda")
packed = pack_padded_sequence(x, torch.tensor([4, 2]), batch_first=True)

# %% sequences packed on the CPU
x = torch.ones(2, 4, 3)
packed = pack_padded_sequence(x, torch.tensor([2, 4]), batch_first=True, enforce_sorted=False)

# %% lengths of ctc on the device
scores = torch.randn(20, 2, 5, device="cuda").log_softmax(2)
targets = torch.ones(2, 6, dtype=torch.long, device="cuda")
lengths = torch.full((2,), 20, dtype=torch.long, device="cuda")
target_lengths = torch.full((2,), 6, dtype=torch.long, device="cuda")
loss = F.ctc_loss(scores, targets, lengths, target_lengths)  # sync: host-lengths

# %% lengths of ctc on the device, by a module
scores = torch.randn(20, 2, 5, device="cuda").log_softmax(2)
targets = torch.ones(2, 6, dtype=torch.long, device="cuda")
lengths = torch.full((2,), 20, dtype=torch.long, device="cuda")
target_lengths = torch.full((2,), 6, dtype=torch.long, device="cuda")
criterion = torch.nn.CTCLoss(zero_infinity=True).to("cuda")
loss = criterion(scores, targets, lengths, target_lengths)  # sync: host-lengths

# %% lengths of ctc on the device, by a module of a module
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = torch.nn.CTCLoss()

    def forward(self, scores, targets, lengths, target_lengths):
        return self.loss(scores, targets, input_lengths=lengths, target_lengths=target_lengths)  # sync: host-lengths

scores = torch.randn(20, 2, 5, device="cuda").log_softmax(2)
targets = torch.ones(2, 6, dtype=torch.long, device="cuda")
lengths = torch.full((2,), 20, dtype=torch.long, device="cuda")
target_lengths = torch.full((2,), 6, dtype=torch.long, device="cuda")
loss = Model()(scores, targets, lengths, target_lengths)

# %% lengths of ctc on the device, by torch.ctc_loss
scores = torch.randn(20, 2, 5, device="cuda").log_softmax(2)
targets = torch.ones(2, 6, dtype=torch.long, device="cuda")
lengths = torch.full((2,), 20, dtype=torch.long, device="cuda")
target_lengths = torch.full((2,), 6, dtype=torch.long, device="cuda")
loss = torch.ctc_loss(scores, targets, lengths, target_lengths)  # sync: host-lengths

# %% lengths of ctc on the host, by a module
scores = torch.randn(20, 2, 5, device="cuda").log_softmax(2)
targets = torch.ones(2, 6, dtype=torch.long, device="cuda")
loss = torch.nn.CTCLoss()(scores, targets, torch.tensor([20, 20]), torch.tensor([6, 6]))  # sync, not reported: sends them

# %% ctc on the CPU
scores = torch.randn(20, 2, 5).log_softmax(2)
lengths = torch.full((2,), 20, dtype=torch.long)
loss = torch.nn.CTCLoss()(scores, torch.ones(2, 6, dtype=torch.long), lengths, lengths - 14)

# %% another loss of three tensors
a = torch.randn(3, 4, device="cuda")
loss = torch.nn.TripletMarginLoss()(a, a + 1, a - 1)

# %% lengths of ctc on the host
scores = torch.randn(20, 2, 5, device="cuda").log_softmax(2)
targets = torch.ones(2, 6, dtype=torch.long, device="cuda")
loss = F.ctc_loss(scores, targets, torch.tensor([20, 20]), torch.tensor([6, 6]))  # sync, not reported: sends them

# %% lengths of ctc as tuples
scores = torch.randn(20, 2, 5, device="cuda").log_softmax(2)
targets = torch.ones(2, 6, dtype=torch.long, device="cuda")
loss = F.ctc_loss(scores, targets, (20, 20), (6, 6))  # sync, not reported: sends them

# %% memory pinned for a single copy
for step in range(2):
    x = torch.ones(3).pin_memory().to("cuda", non_blocking=True)  # sync: pin-memory

# %% a list of memory that is pinned
batches = [x.pin_memory() for x in (torch.ones(3), torch.zeros(3))]
for x in batches:
    y = x.to("cuda", non_blocking=True)

# %% memory pinned once
x = torch.ones(3).pin_memory()
for step in range(2):
    y = x.to("cuda", non_blocking=True)

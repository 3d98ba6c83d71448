# Shapes and indices that depend on values; see README.md.
import numpy as np
import torch
import torch.nn.functional as F

# %% nonzero
x = torch.ones(4, device="cuda")
i = torch.nonzero(x)  # sync: nonzero

# %% nonzero as a method
x = torch.ones(4, device="cuda")
i = (x > 0).nonzero(as_tuple=True)[0]  # sync: nonzero

# %% nonzero of a tensor of the CPU
i = torch.ones(4).nonzero()

# %% nonzero of NumPy
i = np.nonzero(np.ones(3))

# %% nonzero of a fixed size
x = torch.ones(4, device="cuda")
i = torch.nonzero_static(x, size=4)

# %% argwhere
x = torch.ones(4, device="cuda")
i = torch.argwhere(x > 0)  # sync: nonzero

# %% where with one argument
x = torch.ones(4, device="cuda")
i = torch.where(x > 0)  # sync: nonzero

# %% where with three arguments
x = torch.ones(4, device="cuda")
y = torch.where(x > 0, x, 0.0)

# %% where as a method
x = torch.ones(4, device="cuda")
y = x.where(x > 0, torch.zeros_like(x))

# %% count_nonzero has a fixed shape
x = torch.ones(4, device="cuda")
n = torch.count_nonzero(x)

# %% a boolean index
x = torch.randn(4, device="cuda")
y = x[x > 0]  # sync: boolean-index

# %% a boolean index by name
x = torch.randn(4, device="cuda")
keep = x > 0
y = x[keep]  # sync: boolean-index

# %% a boolean index beside a slice
x = torch.randn(4, 4, device="cuda")
keep = x[:, 0] > 0
y = x[keep, 1:]  # sync: boolean-index

# %% a negated boolean index
x = torch.randn(4, device="cuda")
keep = torch.isnan(x)
y = x[~keep]  # sync: boolean-index

# %% a mask of the host
x = torch.randn(4, device="cuda")
keep = torch.tensor([True, False, True, True])
y = x[keep]

# %% a boolean index of tensors of the CPU
x = torch.randn(4)
y = x[x > 0]

# %% a boolean index of NumPy
a = np.arange(4)
b = a[a > 1]

# %% an index on the device
x = torch.randn(4, device="cuda")
i = torch.tensor([0, 1]).to("cuda", non_blocking=True)
y = x[i]

# %% an index made on the device
x = torch.randn(4, device="cuda")
i = torch.arange(2, device="cuda")
y = x[i]
z = x.index_select(0, i)
w = x.gather(0, i)

# %% an index of argsort
x = torch.randn(4, device="cuda")
y = x[x.argsort()]

# %% an integer index
x = torch.randn(4, 4, device="cuda")
y = x[0]
z = x[1, 2]
w = x[-1, :2]

# %% slices with numbers
x = torch.randn(8, device="cuda")
n = 4
y = x[:n]
z = x[n:]
w = x[..., None]

# %% a list as an index
x = torch.randn(4, device="cuda")
y = x[[0, 2]]  # sync: host-index

# %% a tensor of the CPU as an index
x = torch.randn(4, device="cuda")
i = torch.tensor([0, 2])
y = x[i]  # sync: host-index

# %% an array of NumPy as an index
x = torch.randn(4, device="cuda")
i = np.array([0, 2])
y = x[i]  # sync: host-index

# %% a permutation of the CPU as an index
x = torch.randn(4, device="cuda")
perm = torch.randperm(4)
y = x[perm]  # sync: host-index

# %% a permutation of the device as an index
x = torch.randn(4, device="cuda")
perm = torch.randperm(4, device="cuda")
y = x[perm]

# %% a list as an index of a list
rows = [1, 2, 3]
r = rows[0]

# %% a tensor assigned through a mask
x = torch.randn(4, device="cuda")
y = torch.ones(4, device="cuda")
keep = x > -100
x[keep] = y  # sync: boolean-assign

# %% a number assigned through a mask
x = torch.randn(4, device="cuda")
x[x > 0] = 0.0

# %% masked_fill
x = torch.randn(4, device="cuda")
y = x.masked_fill(x > 0, 0.0)
x.masked_fill_(x < 0, 1.0)

# %% addition through a mask
x = torch.randn(4, device="cuda")
keep = x > 0
x[keep] += 1  # sync: boolean-index

# %% a number assigned through indices
x = torch.randn(4, device="cuda")
i = torch.arange(2, device="cuda")
x[i] = 0.0  # sync: scalar-assign

# %% a tensor assigned through indices
x = torch.randn(4, device="cuda")
i = torch.arange(2, device="cuda")
x[i] = torch.zeros(2, device="cuda")

# %% a number assigned to an element
x = torch.randn(4, 4, device="cuda")
x[1, 2] = 3.0  # sync: scalar-assign

# %% a number assigned to a row
x = torch.randn(4, 4, device="cuda")
x[0] = 0.0
x[:, 1] = 1.0
x[...] = 2

# %% index_fill
x = torch.randn(4, device="cuda")
i = torch.arange(2, device="cuda")
x.index_fill_(0, i, 0.0)

# %% slices with bounds on the device
x = torch.randn(8, device="cuda")
n = (x > -100).sum()
y = x[:n]  # sync: tensor-bounds

# %% slices with two bounds on the device
x = torch.randn(8, 8, device="cuda")
i = torch.zeros((), device="cuda", dtype=torch.long)
j = i + 4
y = x[:, i:j]  # sync: tensor-bounds

# %% an element by an index on the device
x = torch.randn(8, device="cuda")
best = x.argmax()
y = x[best]  # sync: tensor-bounds

# %% range of a tensor
n = torch.ones((), device="cuda", dtype=torch.long)
for i in range(n):  # sync: tensor-bounds
    y = i

# %% range of a size
x = torch.randn(8, 2, device="cuda")
for i in range(x.shape[0]):
    y = x[i]
for i in range(len(x)):
    y = x[i]

# %% arange up to a tensor
n = torch.full((), 4, device="cuda")
y = torch.arange(n, device="cuda")  # sync: tensor-bounds

# %% zeros of a size on the device
n = torch.full((), 4, device="cuda")
y = torch.zeros(n, device="cuda")  # sync: tensor-bounds

# %% masked_select
x = torch.randn(4, device="cuda")
y = torch.masked_select(x, x > 0)  # sync: masked-select

# %% masked_select as a method
x = torch.randn(4, device="cuda")
y = x.masked_select(x > 0)  # sync: masked-select

# %% masked_select of tensors of the CPU
x = torch.randn(4)
y = torch.masked_select(x, x > 0)

# %% masked_scatter
x = torch.randn(4, device="cuda")
y = x.masked_scatter(x > 0, torch.ones(4, device="cuda"))

# %% unique
x = torch.randint(3, (8,), device="cuda")
u = torch.unique(x)  # sync: unique

# %% unique with counts
x = torch.randint(3, (8,), device="cuda")
u, n = x.unique(return_counts=True)  # sync: unique

# %% unique_consecutive
x = torch.randint(3, (8,), device="cuda")
u = torch.unique_consecutive(x)  # sync: unique

# %% unique of the CPU and of NumPy
u = torch.unique(torch.ones(3))
v = np.unique(np.ones(3))

# %% sort has a fixed shape
x = torch.randint(3, (8,), device="cuda")
s, i = torch.sort(x)
t = x.topk(2).values

# %% bincount
x = torch.randint(3, (8,), device="cuda")
n = torch.bincount(x, minlength=3)  # sync: bincount

# %% bincount of the CPU
n = torch.bincount(torch.randint(3, (8,)))

# %% histc without bounds
x = torch.rand(8, device="cuda")
h = torch.histc(x, bins=4)  # sync: bincount

# %% histc with bounds
x = torch.rand(8, device="cuda")
h = torch.histc(x, bins=4, min=0, max=1)

# %% scatter_add counts
x = torch.randint(3, (8,), device="cuda")
n = torch.zeros(3, device="cuda").scatter_add_(0, x, torch.ones(8, device="cuda"))

# %% repeat_interleave by a tensor
x = torch.rand(3, device="cuda")
r = torch.randint(1, 3, (3,), device="cuda")
y = torch.repeat_interleave(x, r, dim=0)  # sync: repeat-interleave

# %% repeat_interleave as a method
x = torch.rand(3, device="cuda")
r = torch.randint(1, 3, (3,), device="cuda")
y = x.repeat_interleave(r)  # sync: repeat-interleave

# %% repeat_interleave by a number
x = torch.rand(3, device="cuda")
y = torch.repeat_interleave(x, 2, dim=0)
z = x.repeat_interleave(3)

# %% repeat_interleave with its size
x = torch.rand(3, device="cuda")
r = torch.full((3,), 2, device="cuda")
y = torch.repeat_interleave(x, r, dim=0, output_size=6)

# %% one_hot without classes
x = torch.randint(3, (8,), device="cuda")
y = F.one_hot(x)  # sync: one-hot

# %% one_hot with classes
x = torch.randint(3, (8,), device="cuda")
y = F.one_hot(x, num_classes=3)
z = F.one_hot(x, 3)

# %% one_hot of the CPU
y = F.one_hot(torch.randint(3, (8,)))

# %% combinations
x = torch.arange(4, device="cuda")
y = torch.combinations(x, 2)  # sync: masked-select

# %% a mask from an argument of forward
class Pool(torch.nn.Module):
    def forward(self, x, mask):
        keep = mask > 0
        return x[keep].mean()  # sync: boolean-index

Pool()(torch.rand(4, device="cuda"), torch.ones(4, device="cuda"))

# %% sums under a mask
class Pool(torch.nn.Module):
    def forward(self, x, mask):
        return (x * mask).sum() / mask.sum()

Pool()(torch.rand(4, device="cuda"), torch.ones(4, device="cuda"))

# %% two masks joined
x = torch.randn(4, device="cuda")
keep = (x > -1) & (x < 1)
y = x[keep]  # sync: boolean-index

# %% a mask as bool()
x = torch.randn(4, device="cuda")
keep = torch.ones(4, device="cuda").bool()
y = x[keep]  # sync: boolean-index

# %% a mask by dtype
x = torch.randn(4, device="cuda")
keep = torch.zeros(4, dtype=torch.bool, device="cuda")
y = x[keep]  # sync: boolean-index

# %% indices of where
x = torch.randn(4, device="cuda")
y = x[torch.where(x > 0)]  # sync: nonzero

# %% split and chunk by numbers
x = torch.randn(8, device="cuda")
a, b = x.split(4)
c = x.chunk(2)

# %% split by sizes of the device
x = torch.randn(8, device="cuda")
sizes = torch.full((2,), 4, device="cuda")
parts = x.split(sizes.tolist())  # sync: tolist

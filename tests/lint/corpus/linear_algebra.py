# Linear algebra, and what else reads an error or a bound; see README.md.
import math

import torch
import torch.nn as nn

# %% eigenvalues of a symmetric matrix
a = torch.eye(3, device="cuda")
w = torch.linalg.eigvalsh(a)  # sync: linalg-check

# %% eigenvalues of a general matrix
a = torch.eye(3, device="cuda")
w, v = torch.linalg.eig(a)  # sync: linalg-check

# %% singular values
a = torch.rand(3, 3, device="cuda")
s = torch.linalg.svdvals(a)  # sync: linalg-check

# %% an LU factorisation
a = torch.eye(3, device="cuda")
lu, pivots = torch.linalg.lu_factor(a)  # sync: linalg-check

# %% a pseudo-inverse
a = torch.eye(3, device="cuda")
b = torch.linalg.pinv(a)  # sync: linalg-check

# %% least squares
a = torch.rand(4, 3, device="cuda")
x = torch.linalg.lstsq(a, torch.rand(4, 1, device="cuda")).solution  # sync: linalg-check

# %% a rank
a = torch.eye(3, device="cuda")
r = torch.linalg.matrix_rank(a)  # sync: linalg-check

# %% torch.inverse
a = torch.eye(3, device="cuda")
b = torch.inverse(a)  # sync: linalg-check

# %% a condition number
a = torch.eye(3, device="cuda")
c = torch.linalg.cond(a)  # sync: linalg-check

# %% the inverse and a solution of tensors
a = torch.eye(4, device="cuda").reshape(2, 2, 2, 2)
b = torch.linalg.tensorinv(a, ind=2)  # sync: linalg-check
x = torch.linalg.tensorsolve(a, torch.ones(2, 2, device="cuda"))  # sync: linalg-check

# %% more distributions that validate
from torch import distributions as D
rates = torch.ones(3, device="cuda")
d = D.NegativeBinomial(rates, probs=rates / 2)  # sync: distribution-check
d = D.Chi2(rates)  # sync: distribution-check
d = D.HalfCauchy(rates)  # sync: distribution-check
d = D.InverseGamma(rates, rates)  # sync: distribution-check
d = D.Kumaraswamy(rates, rates)  # sync: distribution-check
d = D.Pareto(rates, rates)  # sync: distribution-check
d = D.VonMises(rates, rates)  # sync: distribution-check
d = D.FisherSnedecor(rates, rates)  # sync: distribution-check
d = D.ContinuousBernoulli(rates / 2)  # sync: distribution-check
d = D.RelaxedBernoulli(rates, rates / 2)  # sync: distribution-check
d = D.LogisticNormal(rates, rates)  # sync: distribution-check
d = D.LowRankMultivariateNormal(rates, torch.ones(3, 2, device="cuda"), rates)  # sync: distribution-check

# %% more distributions that do not validate
from torch import distributions as D
rates = torch.ones(3, device="cuda")
d = D.NegativeBinomial(rates, probs=rates / 2, validate_args=False)
d = D.Pareto(rates, rates, validate_args=False)

# %% numbers among the tensors of distributions that do not validate
from torch import distributions as D
rates = torch.ones(3, device="cuda")
d = D.Chi2(rates, validate_args=False)  # sync: create-from-host
d = D.HalfNormal(rates, validate_args=False)  # sync: create-from-host
d = D.HalfCauchy(rates, validate_args=False)  # sync: create-from-host
d = D.Normal(rates, 1.0, validate_args=False)  # sync: create-from-host
d = D.Gamma(rates, rate=2, validate_args=False)  # sync: create-from-host
d = D.Gamma(rates, rate=rates, validate_args=False)
d = D.Normal(0.0, 1.0, validate_args=False)

# %% a QR factorisation reads nothing
a = torch.rand(3, 3, device="cuda")
q, r = torch.linalg.qr(a)

# %% a triangular system reads nothing
a = torch.eye(3, device="cuda")
x = torch.linalg.solve_triangular(a, torch.rand(3, 1, device="cuda"), upper=True)

# %% slogdet reads nothing
a = torch.eye(3, device="cuda")
s, l = torch.linalg.slogdet(a)

# %% solving without the check
a = torch.eye(3, device="cuda")
x, info = torch.linalg.solve_ex(a, torch.rand(3, 1, device="cuda"))

# %% a module moved as it is
m = nn.Linear(3, 3)
m.to("cuda")  # sync, not reported: moves a module
y = m(torch.rand(2, 3, device="cuda"))
v = y.sum().item()  # sync: item

# %% weights copied where they are
m = nn.Linear(3, 3, device="cuda")
n = nn.Linear(3, 3, device="cuda")
with torch.no_grad():
    n.weight.copy_(m.weight)

# %% weights copied to the host
m = nn.Linear(3, 3, device="cuda")
n = nn.Linear(3, 3)
with torch.no_grad():
    n.weight.copy_(m.weight)  # sync: to-cpu

# %% a store through indices of the host
x = torch.rand(4, device="cuda")
i = torch.tensor([0, 2])
x[i] = torch.zeros(2, device="cuda")  # sync: host-index

# %% a row of the host stored on the device
x = torch.rand(4, 4, device="cuda")
x[0] = torch.zeros(4)  # sync: blocking-copy

# %% a row of the device stored on the host
x = torch.rand(4, 4, device="cuda")
h = torch.zeros(4, 4)
h[0] = x[0]  # sync: to-cpu

# %% isnan of math
x = torch.ones((), device="cuda")
b = math.isnan(x)  # sync: python-scalar

# %% isnan of torch
x = torch.ones((), device="cuda")
b = torch.isnan(x)

# %% normal with a number as its mean
s = torch.ones(4, device="cuda")
x = torch.normal(0.0, s)  # sync: sampling-check

# %% full with a tensor as its value
x = torch.ones((), device="cuda")
y = torch.full((3,), 2.0, device=x.device) * x

# %% full_like
x = torch.ones(3, device="cuda")
y = torch.full_like(x, 2.0)

# %% a boolean index of one mask on another device's copy
x = torch.rand(4, device="cuda")
h = x.cpu()  # sync: to-cpu
y = h[h > 0.5]

# %% cumulative sums and masks
x = torch.rand(4, device="cuda")
m = x.cumsum(0) > 1
y = x.masked_fill(m, 0.0).sum()

# %% interpolation and normalisation
x = torch.rand(1, 3, 8, 8, device="cuda")
y = nn.functional.interpolate(x, scale_factor=2)
z = nn.functional.layer_norm(y, y.shape[-1:])

# %% topk and gather
x = torch.rand(4, 8, device="cuda")
v, i = x.topk(2, dim=1)
g = x.gather(1, i)

# %% searchsorted and bucketize
x = torch.rand(8, device="cuda")
e = torch.linspace(0, 1, 4, device="cuda")
i = torch.bucketize(x, e)

# %% a product of a list of tensors
xs = [torch.ones(3, device="cuda") for i in range(3)]
y = torch.stack(xs).prod(dim=0)
z = torch.cat(xs)

// Elimination with row exchanges in matrices too large for the shared memory of a block.
#pragma once

#include "tutti/exec/kernel.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// Of scratch memory. `columns` of the right-hand side; 0 for a determinant.
std::int64_t large_elimination_bytes(std::int64_t count, std::int64_t n, std::int64_t columns, std::int64_t element);

// Chooses the algorithms of the products that either of the following takes, and launches nothing.
template <class T>
void prepare_large_elimination(Queue& queue, const KernelCall& call, std::int64_t count, int n, int columns);

// x = a^-1 b for each of the matrices, all dense; the inverse where b is null. Trap: where singular ones are noted.
template <class T>
void solve_large(Queue& queue, const KernelCall& call, const T* a, const T* b, T* x, std::int64_t count, int n, int columns,
                 tutti::cuda::Trap* trap);

// `sign` and `logarithm`, or `product`, one for each matrix; what is not wanted is null.
template <class T>
struct Determinants {
  T* product = nullptr;
  T* sign = nullptr;
  T* logarithm = nullptr;
};
template <class T>
void large_determinants(Queue& queue, const KernelCall& call, const T* a, const Determinants<T>& out, std::int64_t count, int n);

}  // namespace tutti::kernels::cuda

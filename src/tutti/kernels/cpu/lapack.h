// The decompositions of the linked LAPACK, for f32 and f64, on the calling thread. It stores matrices by columns: a matrix of
// ours, by rows, is its transpose there, and every function says what it makes of that.
#pragma once

#include <cstdint>

namespace tutti::kernels::lapack {

using Int = std::int32_t;

// The lower (else upper) triangle of a symmetric n x n matrix by rows becomes its Cholesky factor; the other is not touched.
// Returns 0, or the order of the first leading minor that is not positive.
template <class T>
Int cholesky(T* a, Int n, bool lower);

// Transposed LU of an n x n matrix by rows, with row exchanges of the transpose. Returns 0 if no pivot is zero.
template <class T>
Int factor(T* a, Int n, Int* pivots);
// b, by columns and n x columns, becomes x of a x = b, where `a` went through factor().
template <class T>
void solve(const T* a, Int n, const Int* pivots, T* b, Int columns);
// `a`, which went through factor(), becomes the inverse by rows. `work` has n * min(n, 64)
// elements.
template <class T>
void invert(T* a, Int n, const Int* pivots, T* work);

// An m x n matrix by rows becomes r on and above the diagonal, and reflectors with their scales `tau` (min(m, n)).
template <class T>
void reflect(T* a, Int m, Int n, T* tau);
// q, m x columns by rows, holds `count` reflectors in its first columns and becomes the product of them, as far as it has room.
template <class T>
void form_q(T* q, Int m, Int columns, Int count, const T* tau);

}  // namespace tutti::kernels::lapack

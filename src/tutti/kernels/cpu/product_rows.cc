#include "tutti/kernels/cpu/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/product_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// c[0..rows)[0..2 vectors) += a times b, the sums kept in registers.
template <class T, int rows>
HWY_INLINE void tile(std::size_t n, std::size_t k, const T* a, const T* b, T* c) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<hn::ScalableTag<T>> left[rows];
  hn::Vec<hn::ScalableTag<T>> right[rows];
  for (int r = 0; r < rows; ++r) {
    left[r] = hn::LoadU(d, c + static_cast<std::size_t>(r) * n);
    right[r] = hn::LoadU(d, c + static_cast<std::size_t>(r) * n + lanes);
  }
  for (std::size_t i = 0; i < k; ++i) {
    const auto b0 = hn::LoadU(d, b + i * n);
    const auto b1 = hn::LoadU(d, b + i * n + lanes);
    for (int r = 0; r < rows; ++r) {
      const auto factor = hn::Set(d, a[static_cast<std::size_t>(r) * k + i]);
      left[r] = hn::Add(left[r], hn::Mul(factor, b0));
      right[r] = hn::Add(right[r], hn::Mul(factor, b1));
    }
  }
  for (int r = 0; r < rows; ++r) {
    hn::StoreU(left[r], d, c + static_cast<std::size_t>(r) * n);
    hn::StoreU(right[r], d, c + static_cast<std::size_t>(r) * n + lanes);
  }
}

template <class T>
void multiply(std::size_t m, std::size_t n, std::size_t k, const T* a, const T* b, T* c) {
  const std::size_t step = 2 * hn::Lanes(hn::ScalableTag<T>());
  const std::size_t whole = n - n % step;
  for (std::size_t j = 0; j < whole; j += step) {
    std::size_t i = 0;
    for (; i + 4 <= m; i += 4) tile<T, 4>(n, k, a + i * k, b + j, c + i * n + j);
    for (; i < m; ++i) tile<T, 1>(n, k, a + i * k, b + j, c + i * n + j);
  }
  if (whole == n) return;
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t j = whole; j < n; ++j) c[i * n + j] += a[i * k + l] * b[l * n + j];
    }
  }
}

ProductRows make_product_rows() { return {multiply<std::uint32_t>, multiply<std::uint64_t>}; }

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_product_rows);
const ProductRows& product_rows() {
  static const ProductRows rows = HWY_DYNAMIC_DISPATCH(make_product_rows)();
  return rows;
}
}  // namespace tutti::kernels
#endif

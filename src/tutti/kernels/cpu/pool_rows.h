// The vectorised loops of pooling: one line of outputs against one line of the image.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::kernels {

// out[i] = the larger of out[i] and x[i * stride], a NaN before any number; or their sum.
template <class T>
struct PoolRows {
  using Row = void (*)(const T* x, std::int64_t stride, T* out, std::int64_t count);
  Row max;
  Row add;
};
template <class T>
const PoolRows<T>& pool_rows();  // of the working dtypes

}  // namespace tutti::kernels

// The dtypes one by one, and a tensor's elements as bytes.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include <tutti/tensor/dtype_visit.h>
#include "tutti/tutti.h"

namespace tutti::testing_ops {

inline constexpr std::array all_dtypes{DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                                       DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

// In row order.
inline std::vector<std::byte> bytes_of(const Tensor& x, Site site = {}) {
  return visit_dtype(x.dtype(), [&](auto element) {
    using T = decltype(element);
    const auto values = read<T>(x, site);
    std::vector<std::byte> out(values.size() * sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = values[i];
      std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
    }
    return out;
  });
}

}  // namespace tutti::testing_ops

#include "tutti/tensor/dtype.h"

#include <algorithm>
#include <ostream>

namespace tutti {

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << to_string(dtype); }

DType promote(DType a, DType b) noexcept {
  if (a == b) return a;
  if (kind_of(a) != kind_of(b)) return kind_of(a) > kind_of(b) ? a : b;
  const DType low = std::min(a, b);
  const DType high = std::max(a, b);
  if (low == DType::f16 && high == DType::bf16) return DType::f32;
  if (low == DType::u8 && high == DType::i8) return DType::i16;
  return high;
}

}  // namespace tutti

// Combines what the members gave, element by element, in their order: the one place where engines reduce, so that all give the
// same bits.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/tensor/dtype.h"

namespace tutti {

// Throws DTypeError where there is no such reduction of the dtype.
void check_reduction(DType dtype, Reduction reduction);

// `out` may be one of the parts.
void fold(std::span<const void* const> parts, void* out, std::size_t count, DType dtype, Reduction reduction);

// What stays in place is not copied.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) noexcept {
  if (to != from && bytes != 0) std::memcpy(to, from, bytes);
}

const char* to_string(Reduction reduction) noexcept;

}  // namespace tutti

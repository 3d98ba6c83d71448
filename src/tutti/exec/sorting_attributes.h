// The attribute structs of the ops that sort, search and find distinct elements. All work along the last axis.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti {

// Of Sort and TopKV2. Outputs: the values, then the indices, each only if wanted.
struct SortAttributes {
  std::int64_t keep = 0;  // of every line, from its front
  bool is_descending = false;
  bool wants_values = true;
  bool wants_indices = true;
  bool is_spread = false;  // random integers of 64 bits: a kernel may look at a few of the bits first
};

struct SearchSortedAttributes {
  bool right = false;  // behind elements that are equal, not before them
};

// Outputs: the values, the indices of their first occurrence, the inverse, the counts; those not wanted have no elements.
struct UniqueAttributes {
  std::int64_t size = 0;                       // of every output but the inverse
  alignas(8) std::array<std::byte, 8> fill{};  // values from the true count on
  bool wants_indices = false;
  bool wants_inverse = false;
  bool wants_counts = false;
};

}  // namespace tutti

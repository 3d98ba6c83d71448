// The attributes of cumulative ops, shared by the functions that fill them and the kernels that read them.
#pragma once

#include <cstdint>

namespace tutti {

// A scan runs along the last axis but `after`; those form the columns of a matrix for each element of the axes before.
struct ScanAttributes {
  bool include_initial = false;  // every line begins with the sum of nothing
  std::int32_t after = 0;
};

}  // namespace tutti

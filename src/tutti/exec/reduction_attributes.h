// The attributes of reductions, shared by the functions that fill them and the kernels that read them.
#pragma once

#include <cstdint>

namespace tutti {

struct ReductionAttributes {
  // Axes of the input that are reduced, as a bit mask; the output keeps the others in order (a reduced axis that is kept with
  // size 1 has already been dropped from the output operand).
  std::uint32_t axes = 0;
  double parameter = 0;  // the correction of a variance, the order of a norm
};

struct ArgumentAttributes {
  std::int32_t axis = 0;
};

}  // namespace tutti

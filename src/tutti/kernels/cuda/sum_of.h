// What floats are added up as.
#pragma once

#include <cstdint>

namespace tutti::kernels::cuda {

// Of squares the root is taken.
enum class SumOf : std::uint8_t { elements, magnitudes, squares };

}  // namespace tutti::kernels::cuda

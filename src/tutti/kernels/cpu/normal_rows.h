// Normal numbers from Philox's words, compiled once per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::kernels {

// Two numbers from two words each (f64: from four, the first of two the lower half): z * stddev + mean, rounded at every step.
struct NormalRows {
  void (*of_floats)(const std::uint32_t* words, std::size_t pairs, float mean, float stddev, float* out);
  void (*of_doubles)(const std::uint32_t* words, std::size_t pairs, double mean, double stddev, double* out);
};
const NormalRows& normal_rows();

}  // namespace tutti::kernels

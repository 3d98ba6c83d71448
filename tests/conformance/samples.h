// Small tensors with their elements known to the host: an oracle that shares nothing with the runtime.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::conformance {

inline constexpr DType all_dtypes[] = {DType::boolean, DType::u8,  DType::i8,   DType::i16, DType::i32,
                                       DType::i64,     DType::f16, DType::bf16, DType::f32, DType::f64};

// Elements in row order, as doubles; every value used in these tests is exact in them.
struct Sample {
  std::string name;
  Tensor tensor;
  std::vector<double> values;
};

Tensor make(DType dtype, const Shape& shape, const std::vector<double>& values);
std::vector<double> read_values(const Tensor& x);

// The same 3 x 4 shape seen in every way a view allows: dense, sliced (also backwards), transposed, expanded. Elements
// are small integers the dtype holds exactly; `salt` makes them differ.
std::vector<Sample> three_by_four(DType dtype, int salt = 0);

// One expected element per element of a.
std::vector<double> map(const std::vector<double>& a, const std::function<double(double)>& f);
std::vector<double> map(const std::vector<double>& a, const std::vector<double>& b,
                        const std::function<double(double, double)>& f);

}  // namespace tutti::conformance

// Random numbers, drawn by counter: the same key and counter give the same numbers on every backend.
#pragma once

#include <cstdint>

#include "tutti/tensor/tensor.h"

namespace tutti {

struct UniformOptions {
  std::uint64_t key = 0;
  std::uint64_t counter = 0;  // a draw of n elements uses at most n, from here on
  double low = 0;
  double high = 1;
  DType dtype = DType::f32;
};
// Values in [low, high).
Tensor uniform(const Shape& shape, const UniformOptions& options = {}, Site site = {});

struct NormalOptions {
  std::uint64_t key = 0;
  std::uint64_t counter = 0;
  double mean = 0;
  double stddev = 1;
  DType dtype = DType::f32;
};
// Normally distributed values of a floating dtype.
Tensor normal(const Shape& shape, const NormalOptions& options = {}, Site site = {});

struct RandintOptions {
  std::uint64_t key = 0;
  std::uint64_t counter = 0;
  DType dtype = DType::i64;
};
// Integers in [low, high), all equally likely.
Tensor randint(const Shape& shape, std::int64_t low, std::int64_t high, const RandintOptions& options = {}, Site site = {});

struct BernoulliOptions {
  std::uint64_t key = 0;
  std::uint64_t counter = 0;
  DType dtype = DType::boolean;
};
// 1 (true) with this probability, else 0.
Tensor bernoulli(const Shape& shape, double probability, const BernoulliOptions& options = {}, Site site = {});

struct PermutationOptions {
  std::uint64_t key = 0;
  std::uint64_t counter = 0;
};
// 0 ... n - 1 as int64 in random order.
Tensor permutation(std::int64_t n, const PermutationOptions& options = {}, Site site = {});
// x with the slices along its first axis in random order.
Tensor permutation(const Tensor& x, const PermutationOptions& options = {}, Site site = {});

}  // namespace tutti

// Random numbers. Each is worked out from a key and a counter, so that the same two give the same numbers on every backend. Where
// a draw has no key, its numbers come from a generator, which every draw advances.
#pragma once

#include <cstdint>
#include <optional>

#include "tutti/exec/generator.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

struct UniformOptions {
  std::optional<std::uint64_t> key = {};  // with it: these numbers, however often it is called
  std::uint64_t counter = 0;              // the first block of that key
  double low = 0;
  double high = 1;
  DType dtype = DType::f32;
  Generator* generator = nullptr;  // without a key; null: default_generator()
};
// Values in [low, high).
Tensor uniform(const Shape& shape, const UniformOptions& options = {}, Site site = {});

struct NormalOptions {
  std::optional<std::uint64_t> key = {};
  std::uint64_t counter = 0;
  double mean = 0;
  double stddev = 1;
  DType dtype = DType::f32;
  Generator* generator = nullptr;
};
// Normally distributed values of a floating dtype.
Tensor normal(const Shape& shape, const NormalOptions& options = {}, Site site = {});

struct RandintOptions {
  std::optional<std::uint64_t> key = {};
  std::uint64_t counter = 0;
  DType dtype = DType::i64;
  Generator* generator = nullptr;
};
// Integers in [low, high), all equally likely.
Tensor randint(const Shape& shape, std::int64_t low, std::int64_t high, const RandintOptions& options = {}, Site site = {});

struct BernoulliOptions {
  std::optional<std::uint64_t> key = {};
  std::uint64_t counter = 0;
  DType dtype = DType::boolean;
  Generator* generator = nullptr;
};
// 1 (true) with this probability, else 0.
Tensor bernoulli(const Shape& shape, double probability, const BernoulliOptions& options = {}, Site site = {});

struct PermutationOptions {
  std::optional<std::uint64_t> key = {};
  std::uint64_t counter = 0;
  Generator* generator = nullptr;
};
// 0 ... n - 1 as int64 in random order.
Tensor permutation(std::int64_t n, const PermutationOptions& options = {}, Site site = {});
// x with the slices along its first axis in random order.
Tensor permutation(const Tensor& x, const PermutationOptions& options = {}, Site site = {});

}  // namespace tutti

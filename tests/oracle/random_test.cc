// Random draws, worked out again by NumPy from the same key and counter.
#include <gtest/gtest.h>

#include <limits>

#include <tutti/tensor/dtype_visit.h>
#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

struct Stream {
  std::uint64_t key;
  std::uint64_t counter;
  std::string json;
};

Stream any_stream(Random& random) {
  const auto key = static_cast<std::uint64_t>(random.from(0, std::numeric_limits<std::int64_t>::max()));
  const auto counter = static_cast<std::uint64_t>(random.one_in(3) ? random.from(0, std::int64_t{1} << 40) : random.from(0, 9));
  return {key, counter, R"("key":)" + std::to_string(key) + R"(,"counter":)" + std::to_string(counter)};
}

Shape any_shape(Random& random) { return random.one_in(5) ? Shape{random.from(30'000, 150'000)} : random.shape(0, 3); }

TEST(RandomAgainstNumPy, Normal) {
  compare_with_numpy(12, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      const Stream from = any_stream(random);
      const double mean = random.one_in(2) ? 0 : static_cast<double>(random.from(-40, 40)) / 8;
      const double stddev = random.one_in(2) ? 1 : static_cast<double>(random.from(0, 40)) / 8;
      oracle.add(
          random.seed(), "normal", from.json + R"(,"mean":)" + std::to_string(mean) + R"(,"stddev":)" + std::to_string(stddev),
          {},
          normal(any_shape(random), {.key = from.key, .counter = from.counter, .mean = mean, .stddev = stddev, .dtype = dtype}));
    }
  });
}

TEST(RandomAgainstNumPy, Randint) {
  compare_with_numpy(8, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
      visit_dtype(dtype, [&](auto element) {
        if constexpr (std::is_integral_v<decltype(element)>) {
          using Limits = std::numeric_limits<decltype(element)>;
          const bool is_wide = random.one_in(3);
          const std::int64_t low = is_wide ? Limits::min() : random.from(Limits::min() == 0 ? 0 : -100, 60);
          const std::int64_t high = is_wide ? Limits::max() : random.from(low + 1, 100);
          const Stream from = any_stream(random);
          oracle.add(random.seed(), "randint",
                     from.json + R"(,"low":)" + std::to_string(low) + R"(,"high":)" + std::to_string(high), {},
                     randint(any_shape(random), low, high, {.key = from.key, .counter = from.counter, .dtype = dtype}));
        }
      });
    }
  });
}

TEST(RandomAgainstNumPy, Bernoulli) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      const Stream from = any_stream(random);
      const double probability = static_cast<double>(random.from(0, 16)) / 16;
      oracle.add(random.seed(), "bernoulli", from.json + R"(,"p":)" + std::to_string(probability), {},
                 bernoulli(any_shape(random), probability, {.key = from.key, .counter = from.counter, .dtype = dtype}));
    }
  });
}

TEST(RandomAgainstNumPy, Permutation) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for (const std::int64_t n :
         {std::int64_t{0}, std::int64_t{1}, random.from(2, 300), random.from(300, 4'100), random.from(5'000, 80'000)}) {
      const Stream from = any_stream(random);
      oracle.add(random.seed(), "permutation", from.json + R"(,"n":)" + std::to_string(n), {},
                 permutation(n, {.key = from.key, .counter = from.counter}));
    }
    for (const DType dtype : all_dtypes) {
      const Stream from = any_stream(random);
      const Layout layout = all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))];
      const Input x = random_input(random, dtype, random.shape(1, 3), layout, Values::any);
      oracle.add(random.seed(), "permutation", from.json, {&x},
                 permutation(x.tensor, {.key = from.key, .counter = from.counter}));
    }
  });
}

}  // namespace
}  // namespace tutti::oracle

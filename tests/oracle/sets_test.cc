// Distinct elements over dtypes and layouts, judged by NumPy: with the size that comes out, and with one that was stated.
#include <gtest/gtest.h>

#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

void unique_of(Random& random, Oracle& oracle, const Input& x) {
  const std::uint64_t seed = random.seed();
  oracle.add(seed, "unique_values", "", {&x}, unique_values(x.tensor));
  const UniqueCounts counted = unique_counts(x.tensor);
  oracle.add(seed, "unique_counts", "", {&x}, {counted.values, counted.counts, counted.count});
  const UniqueInverse inverse = unique_inverse(x.tensor);
  oracle.add(seed, "unique_inverse", "", {&x}, {inverse.values, inverse.inverse_indices, inverse.count});
  const UniqueAll all = unique_all(x.tensor);
  oracle.add(seed, "unique_all", "", {&x}, {all.values, all.indices, all.inverse_indices, all.counts, all.count});
}

void sized_unique_of(Random& random, Oracle& oracle, const Input& x, std::int64_t size) {
  const std::uint64_t seed = random.seed();
  const std::int64_t fill = random.from(0, 1);  // fits every dtype
  const UniqueSize wanted{.size = size, .fill = x.dtype == DType::boolean ? TensorArg(fill == 1) : TensorArg(fill)};
  const std::string parameters = R"("size":)" + std::to_string(size) + R"(,"fill":)" + std::to_string(fill);
  const UniqueValues values = unique_values(x.tensor, wanted);
  const UniqueCounts counted = unique_counts(x.tensor, wanted);
  const UniqueInverse inverse = unique_inverse(x.tensor, wanted);
  const UniqueAll all = unique_all(x.tensor, wanted);
  oracle.add(seed, "unique_values", parameters, {&x}, {values.values, values.count});
  oracle.add(seed, "unique_counts", parameters, {&x}, {counted.values, counted.counts, counted.count});
  oracle.add(seed, "unique_inverse", parameters, {&x}, {inverse.values, inverse.inverse_indices, inverse.count});
  oracle.add(seed, "unique_all", parameters, {&x}, {all.values, all.indices, all.inverse_indices, all.counts, all.count});
}

template <class Body>
void for_each_kind(Random& random, const Body& body) {
  for (const DType dtype : all_dtypes) {
    for (const Layout layout : all_layouts) {
      const Values values = random.one_in(2) ? Values::any : Values::small_range;
      body(random_input(random, dtype, random.shape(0, 4), layout, values));
    }
  }
}

TEST(SetsAgainstNumPy, UniqueOfAnyTensor) {
  compare_with_numpy(
      4, [](Random& random, Oracle& oracle) { for_each_kind(random, [&](const Input& x) { unique_of(random, oracle, x); }); });
}

TEST(SetsAgainstNumPy, UniqueWithAStatedSize) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    for_each_kind(random, [&](const Input& x) { sized_unique_of(random, oracle, x, random.from(0, random.one_in(2) ? 5 : 40)); });
  });
}

TEST(SetsAgainstNumPy, UniqueOfManyElements) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      const Values values = random.one_in(2) ? Values::any : Values::small_range;
      const Input x = random_input(random, dtype, {random.from(170, 220), 401}, Layout::sliced_and_transposed, values);
      oracle.add(random.seed(), "unique_values", "", {&x}, unique_values(x.tensor));
      const std::int64_t size = random.from(1, 50'000);
      const UniqueAll all =
          unique_all(x.tensor, {.size = size, .fill = dtype == DType::boolean ? TensorArg(true) : TensorArg(1)});
      oracle.add(random.seed(), "unique_all", R"("fill":1,"size":)" + std::to_string(size), {&x},
                 {all.values, all.indices, all.inverse_indices, all.counts, all.count});
    }
  });
}

}  // namespace
}  // namespace tutti::oracle

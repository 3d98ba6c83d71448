// Elements picked by their values, in shapes that depend on data and in shapes that do not, judged by NumPy.
#include <gtest/gtest.h>

#include "oracle/index_items.h"

namespace tutti::oracle {
namespace {

template <class Visit>
void for_each_kind(Visit&& visit) {
  for (const DType dtype : all_dtypes) {
    for (const Layout layout : all_layouts) visit(dtype, layout);
  }
}

Layout any_layout(Random& random) { return all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))]; }

void check_nonzero(Random& random, Oracle& oracle, DType dtype, Layout layout, const Shape& shape) {
  const Input x = random_input(random, dtype, shape, layout, random.one_in(2) ? Values::any : Values::small_range);
  const std::int64_t size = random.from(0, 2 * x.tensor.size());
  const NonzeroResult found = nonzero(x.tensor, {.size = size, .fill = -7});
  oracle.add(random.seed(), "nonzero_of_size", R"("size":)" + std::to_string(size) + R"(,"fill":-7)", {&x},
             std::vector{found.positions, found.count});
}

void check_masked_select(Random& random, Oracle& oracle, DType dtype, Layout layout, const Shape& shape) {
  const Input x = random_input(random, dtype, shape, layout, Values::any);
  const Input mask = random_input(random, DType::boolean, random.broadcast_partner(shape), any_layout(random), Values::any);
  oracle.add(random.seed(), "masked_select", "", {&x, &mask}, masked_select(x.tensor, mask.tensor));
  const std::int64_t size = random.from(0, 2 * x.tensor.size());
  const MaskedSelectResult found = masked_select(x.tensor, mask.tensor, {.size = size, .fill = 1});
  oracle.add(random.seed(), "masked_select_of_size", R"("fill":1,"size":)" + std::to_string(size), {&x, &mask},
             std::vector{found.values, found.count});
}

TEST(AgainstNumPy, NonzeroOfAGivenSize) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) { check_nonzero(random, oracle, dtype, layout, random.shape(1, 4)); });
  });
}

TEST(AgainstNumPy, MaskedSelectWithAndWithoutAGivenSize) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) { check_masked_select(random, oracle, dtype, layout, random.shape(0, 4)); });
  });
}

TEST(AgainstNumPy, MaskedScatter) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.shape(0, 4);
      const Input x = random_input(random, dtype, shape, layout, Values::any);
      const Input mask = random_input(random, DType::boolean, shape, any_layout(random), Values::any);
      const Input values = random_input(random, dtype, shape, any_layout(random), Values::any);
      oracle.add(random.seed(), "masked_scatter", "", {&x, &mask, &values}, masked_scatter(x.tensor, mask.tensor, values.tensor));
    });
  });
}

TEST(AgainstNumPy, SelectionFromManyElements) {
  compare_with_numpy(2, [](Random& random, Oracle& oracle) {
    for (const DType dtype : all_dtypes) {
      const Shape shape{random.from(100, 300), random.from(600, 900)};
      check_masked_select(random, oracle, dtype, any_layout(random), shape);
    }
    check_nonzero(random, oracle, DType::i16, any_layout(random), {random.from(100, 300), random.from(600, 900)});
  });
}

TEST(AgainstNumPy, RepeatInterleave) {
  compare_with_numpy(6, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.shape(1, 4);
      const Input x = random_input(random, dtype, shape, layout, Values::any);
      const auto axis = random.from(0, static_cast<std::int64_t>(shape.size()) - 1);
      const bool is_flat = random.one_in(3);
      const std::optional<std::int64_t> along = is_flat ? std::nullopt : std::optional(axis);
      const std::int64_t size = is_flat ? x.tensor.size() : shape[static_cast<std::size_t>(axis)];
      const std::string params = R"("axis":)" + (is_flat ? "null" : std::to_string(axis));
      const std::int64_t times = random.from(0, 3);
      oracle.add(random.seed(), "repeat_interleave", params + R"(,"times":)" + std::to_string(times), {&x},
                 repeat_interleave(x.tensor, times, along));
      const Input repeats = random_indices(random, {random.one_in(5) ? 1 : size}, 4, true);
      const Tensor repeated = repeat_interleave(x.tensor, repeats.tensor, along);
      oracle.add(random.seed(), "repeat_interleave", params, {&x, &repeats}, repeated);
      const std::int64_t total = repeated.shape()[static_cast<std::size_t>(is_flat ? 0 : axis)];
      oracle.add(random.seed(), "repeat_interleave", params, {&x, &repeats},
                 repeat_interleave(x.tensor, repeats.tensor, {.axis = along, .output_size = total}).values);
    });
  });
}

TEST(AgainstNumPy, RepeatInterleaveOfManyElements) {
  compare_with_numpy(2, [](Random& random, Oracle& oracle) {
    const Input x = random_input(random, DType::f32, {40000}, Layout::dense, Values::any);
    const Input repeats = random_indices(random, {40000}, 6, true);
    oracle.add(random.seed(), "repeat_interleave", R"("axis":0)", {&x, &repeats}, repeat_interleave(x.tensor, repeats.tensor, 0));
  });
}

}  // namespace
}  // namespace tutti::oracle

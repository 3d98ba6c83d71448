// Elements in another arrangement, in every dtype and layout, judged by NumPy.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "oracle/oracle.h"

namespace tutti::oracle {
namespace {

Layout any_layout(Random& random) { return all_layouts[static_cast<std::size_t>(random.from(0, all_layouts.size() - 1))]; }
DType any_dtype(Random& random) { return all_dtypes[static_cast<std::size_t>(random.from(0, all_dtypes.size() - 1))]; }

template <class Visit>
void for_each_kind(Visit&& visit) {
  for (const DType dtype : all_dtypes) {
    for (const Layout layout : all_layouts) visit(dtype, layout);
  }
}

std::int64_t rank_of(const Shape& shape) { return static_cast<std::int64_t>(shape.size()); }

// An axis, counted from either end.
std::int64_t any_axis(Random& random, std::int64_t rank) { return random.from(-rank, rank - 1); }

// Some axes in any order, each counted from either end.
Dims some_axes(Random& random, std::int64_t rank) {
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  for (std::size_t i = axes.size(); i > 1; --i)
    std::swap(axes[i - 1], axes[static_cast<std::size_t>(random.from(0, static_cast<std::int64_t>(i) - 1))]);
  axes.resize(static_cast<std::size_t>(random.from(0, rank)));
  for (std::int64_t& axis : axes) axis -= random.one_in(2) ? rank : 0;
  return Dims(axes);
}

std::string axis_parameter(std::int64_t axis) { return R"("axis":)" + std::to_string(axis); }

struct Many {
  std::vector<Input> inputs;
  [[nodiscard]] std::vector<Tensor> tensors() const {
    std::vector<Tensor> out;
    for (const Input& input : inputs) out.push_back(input.tensor);
    return out;
  }
  [[nodiscard]] std::vector<const Input*> pointers() const {
    std::vector<const Input*> out;
    for (const Input& input : inputs) out.push_back(&input);
    return out;
  }
};

TEST(ManipulationAgainstNumPy, Concat) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.shape(1, 4);
      const std::int64_t axis = any_axis(random, rank_of(shape));
      const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank_of(shape) : axis);
      Many many;
      for (std::int64_t i = random.from(1, 5); i > 0; --i) {
        Shape one = shape;
        one[at] = random.from(random.one_in(6) ? 0 : 1, 8);
        const bool is_alike = random.one_in(2);
        many.inputs.push_back(random_input(random, random.one_in(6) ? any_dtype(random) : dtype, one,
                                           is_alike ? layout : any_layout(random), Values::any));
      }
      oracle.add(random.seed(), "concat", axis_parameter(axis), many.pointers(), concat(many.tensors(), axis));
      many.inputs.push_back(random_input(random, dtype, random.shape(), any_layout(random), Values::any));
      oracle.add(random.seed(), "concat", R"("axis":null)", many.pointers(), concat(many.tensors(), std::nullopt));
    });
  });
}

TEST(ManipulationAgainstNumPy, ConcatOfManyElements) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::i64}) {
      for (const Layout layout : {Layout::dense, Layout::transposed}) {
        for (const std::int64_t axis : {0, 1}) {
          Many many;
          for (int i = 0; i < 3; ++i) {
            const std::int64_t other = random.from(80, 200);
            many.inputs.push_back(
                random_input(random, dtype, axis == 0 ? Shape{other, 300} : Shape{300, other}, layout, Values::any));
          }
          oracle.add(random.seed(), "concat", axis_parameter(axis), many.pointers(), concat(many.tensors(), axis));
        }
        Many many;
        for (int i = 0; i < 3; ++i) many.inputs.push_back(random_input(random, dtype, {200, 150}, layout, Values::any));
        for (const std::int64_t axis : {0, 1, 2})
          oracle.add(random.seed(), "stack", axis_parameter(axis), many.pointers(), stack(many.tensors(), axis));
      }
    }
    Many many;
    for (int i = 0; i < 100; ++i) {
      many.inputs.push_back(random_input(random, DType::f32, {i % 3}, i % 4 == 0 ? Layout::sliced : Layout::dense, Values::any));
    }
    oracle.add(random.seed(), "concat", axis_parameter(0), many.pointers(), concat(many.tensors()));
  });
}

TEST(ManipulationAgainstNumPy, StackAndUnstack) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.shape(0, 4);
      Many many;
      for (std::int64_t i = random.from(1, 5); i > 0; --i)
        many.inputs.push_back(random_input(random, random.one_in(6) ? any_dtype(random) : dtype, shape,
                                           random.one_in(2) ? layout : any_layout(random), Values::any));
      const std::int64_t axis = any_axis(random, rank_of(shape) + 1);
      oracle.add(random.seed(), "stack", axis_parameter(axis), many.pointers(), stack(many.tensors(), axis));
      const Input x = random_input(random, dtype, random.shape(1, 3), layout, Values::any);
      const std::int64_t along = any_axis(random, rank_of(x.tensor.shape()));
      std::vector<Tensor> parts = unstack(x.tensor, along);
      const auto size = static_cast<std::size_t>(
          x.tensor.shape()[static_cast<std::size_t>(along < 0 ? along + rank_of(x.tensor.shape()) : along)]);
      EXPECT_EQ(parts.size(), size);
      if (parts.size() > 6) parts.resize(6);
      oracle.add(random.seed(), "unstack", axis_parameter(along), {&x}, parts);
    });
  });
}

TEST(ManipulationAgainstNumPy, Split) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      Shape shape = random.shape(1, 4);
      const std::int64_t axis = any_axis(random, rank_of(shape));
      const std::int64_t parts = random.from(1, 4);
      shape[static_cast<std::size_t>(axis < 0 ? axis + rank_of(shape) : axis)] = parts * random.from(0, 4);
      const Input x = random_input(random, dtype, shape, layout, Values::any);
      oracle.add(random.seed(), "split", axis_parameter(axis) + R"(,"at":)" + std::to_string(parts), {&x},
                 split(x.tensor, parts, axis));
      const std::vector<std::int64_t> at{random.from(-3, 5), random.from(0, 20), random.from(-9, 9)};
      oracle.add(random.seed(), "split", axis_parameter(axis) + R"(,"at":)" + json(Dims(at)), {&x}, split(x.tensor, at, axis));
    });
  });
}

TEST(ManipulationAgainstNumPy, AxesPutInTakenOutAndMoved) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      Shape shape = random.shape(0, 4);
      for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = random.one_in(2) ? 1 : shape[i];
      const Input x = random_input(random, dtype, shape, layout, Values::any);
      const std::int64_t axis = any_axis(random, rank_of(shape) + 1);
      oracle.add(random.seed(), "expand_dims", axis_parameter(axis), {&x}, expand_dims(x.tensor, axis));
      Dims single;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 1 && random.one_in(2))
          single.push_back(static_cast<std::int64_t>(i) - (random.one_in(2) ? rank_of(shape) : 0));
      }
      oracle.add(random.seed(), "squeeze", R"("axes":)" + json(single), {&x}, squeeze(x.tensor, single));
      oracle.add(random.seed(), "squeeze", R"("axes":null)", {&x}, squeeze(x.tensor));
      const Dims from = some_axes(random, rank_of(shape));
      Dims to = some_axes(random, rank_of(shape));
      while (to.size() != from.size()) to = some_axes(random, rank_of(shape));
      oracle.add(random.seed(), "moveaxis", R"("from":)" + json(from) + R"(,"to":)" + json(to), {&x},
                 moveaxis(x.tensor, from, to));
      const Dims flipped = some_axes(random, rank_of(shape));
      oracle.add(random.seed(), "flip", R"("axes":)" + json(flipped), {&x}, flip(x.tensor, flipped));
      oracle.add(random.seed(), "flip", R"("axes":null)", {&x}, flip(x.tensor));
      if (shape.size() < 2) return;
      oracle.add(random.seed(), "matrix_transpose", "", {&x}, matrix_transpose(x.tensor));
    });
  });
}

TEST(ManipulationAgainstNumPy, Diagonals) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Input x = random_input(random, dtype, random.shape(2, 4), layout, Values::any);
      const std::int64_t rank = rank_of(x.tensor.shape());
      const std::int64_t first = any_axis(random, rank);
      std::int64_t second = any_axis(random, rank);
      while ((second - first) % rank == 0) second = any_axis(random, rank);
      const std::int64_t offset = random.from(-7, 7);
      oracle.add(random.seed(), "diagonal",
                 R"("offset":)" + std::to_string(offset) + R"(,"axis1":)" + std::to_string(first) + R"(,"axis2":)" +
                     std::to_string(second),
                 {&x}, diagonal(x.tensor, {.offset = offset, .axis1 = first, .axis2 = second}));
      oracle.add(random.seed(), "diagonal", R"("offset":0,"axis1":-2,"axis2":-1)", {&x}, diagonal(x.tensor));
    });
  });
}

TEST(ManipulationAgainstNumPy, BroadcastArrays) {
  compare_with_numpy(2, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.shape(0, 4);
      Many many;
      many.inputs.push_back(random_input(random, dtype, shape, layout, Values::any));
      for (int i = 0; i < 2; ++i)
        many.inputs.push_back(
            random_input(random, any_dtype(random), random.broadcast_partner(shape), any_layout(random), Values::any));
      oracle.add(random.seed(), "broadcast_arrays", "", many.pointers(), broadcast_arrays(many.tensors()));
    });
  });
}

TEST(ManipulationAgainstNumPy, Roll) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.one_in(10) ? Shape{300, random.from(200, 400)} : random.shape(0, 4);
      const Input x = random_input(random, dtype, shape, layout, Values::any);
      const std::int64_t shift = random.from(-30, 30);
      oracle.add(random.seed(), "roll", R"("axes":null,"shifts":)" + std::to_string(shift), {&x}, roll(x.tensor, shift));
      const Dims axes = some_axes(random, rank_of(shape));
      Dims shifts;
      for (std::size_t i = 0; i < axes.size(); ++i) shifts.push_back(random.from(-9, 9));
      oracle.add(random.seed(), "roll", R"("axes":)" + json(axes) + R"(,"shifts":)" + json(shifts), {&x},
                 roll(x.tensor, shifts, axes));
    });
  });
}

TEST(ManipulationAgainstNumPy, RepeatAndTile) {
  compare_with_numpy(3, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.shape(0, 4);
      const Input x = random_input(random, dtype, shape, layout, Values::any);
      const std::int64_t times = random.from(0, 4);
      oracle.add(random.seed(), "repeat", R"("axis":null,"times":)" + std::to_string(times), {&x}, repeat(x.tensor, times));
      Dims repetitions;
      for (std::int64_t i = random.from(0, 5); i > 0; --i) repetitions.push_back(random.from(random.one_in(8) ? 0 : 1, 3));
      oracle.add(random.seed(), "tile", R"("repetitions":)" + json(repetitions), {&x}, tile(x.tensor, repetitions));
      if (shape.empty()) return;
      const std::int64_t axis = any_axis(random, rank_of(shape));
      oracle.add(random.seed(), "repeat", axis_parameter(axis) + R"(,"times":)" + std::to_string(times), {&x},
                 repeat(x.tensor, times, axis));
    });
    const Input x = random_input(random, DType::i16, {2, 1, 2, 1, 2, 1, 2, 2}, Layout::sliced, Values::any);
    oracle.add(random.seed(), "tile", R"("repetitions":[2,2,2,1,2,1,3,2])", {&x}, tile(x.tensor, {2, 2, 2, 1, 2, 1, 3, 2}));
    oracle.add(random.seed(), "repeat", R"("axis":4,"times":3)", {&x}, repeat(x.tensor, 3, 4));
  });
}

TEST(ManipulationAgainstNumPy, TileOfManyElements) {
  compare_with_numpy(1, [](Random& random, Oracle& oracle) {
    const Input x = random_input(random, DType::f32, {1100, 2048}, Layout::dense, Values::any);
    oracle.add(random.seed(), "tile", R"("repetitions":[2,1])", {&x}, tile(x.tensor, {2, 1}));
  });
}

TEST(ManipulationAgainstNumPy, Pad) {
  compare_with_numpy(4, [](Random& random, Oracle& oracle) {
    for_each_kind([&](DType dtype, Layout layout) {
      const Shape shape = random.one_in(10) ? Shape{random.from(1, 3), 250, random.from(200, 400)} : random.shape(0, 4);
      const Input x = random_input(random, dtype, shape, layout, Values::any);
      const Input value = random_input(random, dtype, {}, Layout::dense, Values::any);
      std::vector<PadWidth> widths;
      std::string text = "[";
      for (std::size_t i = 0; i < shape.size(); ++i) {
        widths.push_back({random.one_in(2) ? 0 : random.from(0, 4), random.one_in(2) ? 0 : random.from(0, 4)});
        text += (i > 0 ? ",[" : "[") + std::to_string(widths[i].before) + "," + std::to_string(widths[i].after) + "]";
      }
      const std::string parameters = R"("widths":)" + text + "]";
      oracle.add(random.seed(), "pad", parameters, {&x, &value}, pad(x.tensor, widths, value.tensor));
      oracle.add(random.seed(), "pad", parameters + R"(,"value":1)", {&x}, pad(x.tensor, widths, true));
      if (shape.size() < 2) return;
      oracle.add(random.seed(), "pad", R"("widths":[[1,2]],"value":0)", {&x}, pad(x.tensor, {{1, 2}}));
    });
    const Input row = random_input(random, DType::f32, {100000}, Layout::dense, Values::any);
    oracle.add(random.seed(), "pad", R"("widths":[[90000,3]],"value":0)", {&row}, pad(row.tensor, {{90000, 3}}));
  });
}

}  // namespace
}  // namespace tutti::oracle

// Ops on sharded tensors against the same ops on plain ones.
#include <chrono>

#include "mesh/meshes.h"

namespace tutti::meshes {
namespace {

using testing::HasSubstr;

class ShardedOps : public OnDevices {
 protected:
  Mesh random_mesh() { return mesh_of(pick(mesh_sizes())); }
  // Sizes that every mesh here divides, or 1.
  Shape random_shape(std::size_t rank) {
    Shape out;
    for (std::size_t axis = 0; axis < rank; ++axis) out.push_back(pick(std::vector<std::int64_t>{1, 24, 48}));
    return out;
  }
  // One that can hold a tensor of this shape.
  Layout random_layout(const Mesh& mesh, const Shape& shape) {
    std::vector<Layout> fitting;
    for (const Layout& layout : all_layouts(mesh, shape.size())) {
      bool fits = true;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) fits = fits && shape[axis] % layout.num_shards(axis) == 0;
      if (fits) fitting.push_back(layout);
    }
    return pick(fitting);
  }
  template <class T>
  T pick(const std::vector<T>& from) {
    return from[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random_)];
  }
  std::size_t up_to(std::size_t most) { return std::uniform_int_distribution<std::size_t>(0, most)(random_); }

  std::mt19937_64 random_;
};
TUTTI_ON_ALL_DEVICES(ShardedOps);

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t seeds = 10;
#else
constexpr std::uint64_t seeds = 60;
#endif

// What the sharded call gives; where it is refused, after the relayout that the refusal names.
template <class Call>
ShardedTensor after_advice(const ShardedTensor& a, ShardedTensor b, const Mesh& mesh, Call&& call) {
  try {
    return call(a, b);
  } catch (const InvalidArgument& error) {
    const std::string message = error.message();
    EXPECT_THAT(message, HasSubstr("Use relayout(second, Layout({"));
    const std::size_t begin = message.find("Layout({") + 8;
    std::vector<std::string> specs;
    std::string spec;
    for (const char c : message.substr(begin, message.find("}", begin) - begin)) {
      if (c == ',') specs.push_back(std::exchange(spec, {}));
      if (c != ',' && c != ' ' && c != '"') spec += c;
    }
    if (!spec.empty()) specs.push_back(spec);
    b = relayout(b, Layout(specs, mesh));
    return call(a, b);
  }
}

TEST_P(ShardedOps, ElementWiseGiveWhatPlainOnesDo) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    random_.seed(seed);
    const Mesh mesh = random_mesh();
    const Shape common = random_shape(1 + up_to(2));
    Shape other = common;
    for (std::size_t axis = 0; axis < other.size(); ++axis) {
      if (up_to(3) == 0) other[axis] = 1;
    }
    if (up_to(2) == 0) other = Shape(other.view().subspan(1));
    const Tensor a = whole_numbers(common, seed);
    const Tensor b = whole_numbers(other, seed + 1);
    const ShardedTensor sharded_a = shard(a, random_layout(mesh, common));
    const ShardedTensor sharded_b = shard(b, random_layout(mesh, other));
    const std::string what = "seed " + std::to_string(seed) + ": " + to_string(common) + sharded_a.layout().to_string() +
                             " and " + to_string(other) + sharded_b.layout().specs_text();
    const ShardedTensor sum = after_advice(sharded_a, sharded_b, mesh, [](const auto& l, const auto& r) { return l + r; });
    expect_sharded(sum, sum.layout(), a + b, what);
    const ShardedTensor back =
        after_advice(sharded_b, sharded_a, mesh, [](const auto& l, const auto& r) { return maximum(l, r); });
    expect_sharded(back, back.layout(), maximum(b, a), what);
    if (HasFailure()) return;
  }
}

TEST_P(ShardedOps, ProductsGiveWhatPlainOnesDo) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    random_.seed(seed);
    const Mesh mesh = random_mesh();
    Shape left = random_shape(1 + up_to(2));
    Shape right = random_shape(1 + up_to(2));
    right[right.size() == 1 ? 0 : right.size() - 2] = left[left.size() - 1];
    if (left.size() == 3 && right.size() == 3 && left[0] != 1 && right[0] != 1) right[0] = left[0];
    const Tensor a = whole_numbers(left, seed);
    const Tensor b = whole_numbers(right, seed + 1);
    const ShardedTensor sharded_a = shard(a, random_layout(mesh, left));
    const ShardedTensor sharded_b = shard(b, random_layout(mesh, right));
    const std::string what = "seed " + std::to_string(seed) + ": " + to_string(left) + sharded_a.layout().to_string() + " and " +
                             to_string(right) + sharded_b.layout().specs_text();
    const ShardedTensor product =
        after_advice(sharded_a, sharded_b, mesh, [](const auto& l, const auto& r) { return matmul(l, r); });
    expect_sharded(product, product.layout(), matmul(a, b), what);
    if (HasFailure()) return;
  }
}

TEST_P(ShardedOps, ReductionsGiveWhatPlainOnesDo) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    random_.seed(seed);
    const Mesh mesh = random_mesh();
    const Shape shape = random_shape(1 + up_to(2));
    Dims axes;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (up_to(1) == 0) axes.push_back(static_cast<std::int64_t>(axis));
    }
    const bool keeps = up_to(1) == 0;
    const Tensor x = whole_numbers(shape, seed, seed % 2 == 0 ? DType::f32 : DType::i32);
    const ShardedTensor sharded = shard(x, random_layout(mesh, shape));
    const std::string what = "seed " + std::to_string(seed) + ": " + to_string(shape) + sharded.layout().to_string() + " over " +
                             to_string(axes) + (keeps ? " kept" : "");
    const auto check = [&](const ShardedTensor& found, const Tensor& expected) {
      expect_sharded(found, found.layout(), expected, what);
    };
    check(sum(sharded, axes, {.keepdims = keeps}), sum(x, axes, {.keepdims = keeps}));
    check(max(sharded, axes, {.keepdims = keeps}), max(x, axes, {.keepdims = keeps}));
    check(min(sharded, axes, {.keepdims = keeps}), min(x, axes, {.keepdims = keeps}));
    check(all(sharded, axes, {.keepdims = keeps}), all(x, axes, {.keepdims = keeps}));
    check(any(equal(sharded, 4), axes, {.keepdims = keeps}), any(equal(x, 4), axes, {.keepdims = keeps}));
    check(sum(sharded), sum(x));
    if (HasFailure()) return;
  }
}

TEST_P(ShardedOps, AMeanIsTheMeanOfAll) {
  const Mesh mesh = mesh_of({2, 2});
  const Tensor x = whole_numbers({8, 16}, 3);  // 128 elements: exact in any order
  for (const Layout& layout : all_layouts(mesh, 2)) {
    expect_sharded(mean(shard(x, layout)), Layout::replicated(mesh, 0), mean(x), layout.to_string());
    const ShardedTensor rows = mean(shard(x, layout), {1});
    expect_sharded(rows, rows.layout(), mean(x, {1}), layout.to_string());
  }
}

TEST_P(ShardedOps, TakeNumbersOnEitherSide) {
  const Mesh mesh = mesh_of({2});
  const Layout layout = Layout::batch_sharded(mesh, "x", 1);
  const Tensor x = whole_numbers({6}, 1);
  const ShardedTensor s = shard(x, layout);
  expect_sharded(2 * s - 1.5F + s / 4, layout, 2 * x - 1.5F + x / 4, "an expression");
  expect_sharded(-s, layout, -x, "a sign");
  expect_sharded(where(s > 0, s, zeros({6}, layout)), layout, where(x > 0, x, zeros({6})), "where");
  expect_sharded(relu(s), layout, relu(x), "relu");
  expect_sharded(cast(s, DType::i64), layout, cast(x, DType::i64), "cast");
  expect_sharded(pow(s, 2), layout, pow(x, 2), "pow");
  expect_sharded(elementwise("atan2", static_cast<BinaryOp>(atan2), s, s), layout, atan2(x, x), "any other");
  EXPECT_THROW(cast(s, DType::u8) + 300, InvalidArgument);
}

TEST_P(ShardedOps, KeepTheShardingOfRowsColumnsAndBatches) {
  const Mesh mesh = mesh_of({2, 2});
  const auto product = [&](const std::vector<std::string>& a, const std::vector<std::string>& b) {
    return matmul(ones({4, 4}, Layout(a, mesh)), ones({4, 4}, Layout(b, mesh))).layout().specs_text();
  };
  EXPECT_EQ(product({"x", unsharded}, {unsharded, "y"}), "(x, y)");
  EXPECT_EQ(product({"x", "y"}, {"y", unsharded}), "(x, unsharded)");
  EXPECT_EQ(product({unsharded, "y"}, {unsharded, unsharded}), "(unsharded, unsharded)");
  EXPECT_EQ(product({unsharded, "y"}, {"y", "x"}), "(unsharded, x)");
  const ShardedTensor batches =
      matmul(ones({2, 4, 4}, Layout({"x", unsharded, "y"}, mesh)), ones({4, 4}, Layout({"y", unsharded}, mesh)));
  EXPECT_EQ(batches.layout().specs_text(), "(x, unsharded, unsharded)");
}

TEST_P(ShardedOps, SayWhichRelayoutToDo) {
  const Mesh mesh = mesh_of({2, 2});
  const auto tensor = [&](const std::vector<std::string>& specs) { return ones({4, 4}, Layout(specs, mesh)); };
  EXPECT_EQ(
      refusal<InvalidArgument>([&] {
        tensor({"x", unsharded}) + tensor({"y", unsharded});
      }),
      "add: inputs of the layouts (x, unsharded) and (y, unsharded) cannot be combined without moving data: of the second axis 0 "
      "is sharded "
      "over 'y', but goes with an axis sharded over 'x'. Use relayout(second, Layout({\"x\", unsharded}, mesh)) first");
  EXPECT_THAT(refusal<InvalidArgument>([&] {
                tensor({"x", unsharded}) * tensor({unsharded, "x"});
              }),
              HasSubstr("multiply: inputs of the layouts (x, unsharded) and (unsharded, x)"));
  EXPECT_EQ(
      refusal<InvalidArgument>([&] {
        matmul(tensor({"x", unsharded}), tensor({unsharded, "x"}));
      }),
      "matmul: inputs of the layouts (x, unsharded) and (unsharded, x) cannot be combined without moving data: of the second "
      "axis 1 is "
      "sharded over 'x', which shards another axis already. Use relayout(second, Layout({unsharded, unsharded}, mesh)) first");
  EXPECT_THAT(refusal<InvalidArgument>([&] {
                matmul(tensor({"x", "y"}), tensor({"x", unsharded}));
              }),
              HasSubstr("Use relayout(second, Layout({\"y\", unsharded}, mesh)) first"));
}

TEST_P(ShardedOps, SayWhatElseIsWrong) {
  const Mesh mesh = mesh_of({2, 2});
  const Layout layout = Layout::replicated(mesh, 2);
  const ShardedTensor a = ones({4, 3}, layout);
  EXPECT_EQ(refusal<ShapeError>([&] { a + ones({4, 2}, layout); }), "add: the shapes (4, 3) and (4, 2) do not broadcast");
  EXPECT_EQ(refusal<ShapeError>([&] { matmul(a, a); }),
            "matmul: the shapes (4, 3) and (4, 3) do not go together: the last axis of the first must be as long as the last but "
            "one of the "
            "second");
  EXPECT_THAT(refusal<InvalidArgument>([&] {
                a + ones({4, 3}, Layout::replicated(mesh_of({4}), 2));
              }),
              HasSubstr("add: all inputs must be on one mesh; there are |x=2,y=2|"));
  EXPECT_THROW(sum(a, {2}), ShapeError);
  EXPECT_THROW(mean(cast(a, DType::i32)), DTypeError);
  EXPECT_THROW(a + ShardedTensor(), InvalidArgument);
}

TEST_P(ShardedOps, KeepTheLineOfTheCall) {
  const ShardedTensor a = ones({2}, Layout::replicated(mesh_of({2}), 1));
  const ShardedTensor b = ones({3}, Layout::replicated(mesh_of({2}), 1));
  const unsigned line = Site().line() + 2;
  try {
    a * 2 + b;
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.site().line(), line);
    EXPECT_THAT(error.site().file(), testing::EndsWith("sharded_ops_test.cc"));
  }
}

}  // namespace
}  // namespace tutti::meshes

// Views of sharded tensors against the same views of plain ones: the sharding goes with its axis, and nothing is moved.
#include "mesh/meshes.h"

namespace tutti::meshes {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ShardedViews : public OnDevices {
 protected:
  // `call` on a tensor in every layout of a mesh; where it is refused, after the relayouts that the refusals name.
  template <class Call>
  void expect_like_plain(const MeshSizes& sizes, const Shape& shape, const char* what, Call&& call) {
    const Mesh mesh = mesh_of(sizes);
    const Tensor x = whole_numbers(shape, 7);
    for (const Layout& layout : all_layouts(mesh, shape.size())) {
      ShardedTensor sharded = shard(x, layout);
      for (std::size_t refusals = 0;; ++refusals) {
        ASSERT_LE(refusals, shape.size()) << what << layout.specs_text();
        try {
          const ShardedTensor found = call(sharded);
          expect_sharded(found, found.layout(), call(x), what + layout.specs_text());
          break;
        } catch (const InvalidArgument& error) {
          sharded = relayout(sharded, advised(error.message(), mesh));
        }
      }
      if (HasFailure()) return;
    }
  }

  static Layout advised(const std::string& message, const Mesh& mesh) {
    EXPECT_THAT(message, HasSubstr("Use relayout(x, Layout({"));
    const std::size_t begin = message.find("Layout({") + 8;
    std::vector<std::string> specs;
    std::string spec;
    for (const char c : message.substr(begin, message.find('}', begin) - begin) + ",") {
      if (c == ',') specs.push_back(std::exchange(spec, {}));
      if (c != ',' && c != ' ' && c != '"') spec += c;
    }
    return {specs, mesh};
  }
};
TUTTI_ON_ALL_DEVICES(ShardedViews);

#define EXPECT_LIKE_PLAIN(sizes, shape, ...) \
  expect_like_plain(sizes, shape, #__VA_ARGS__, [&](const auto& x) { return __VA_ARGS__; })

TEST_P(ShardedViews, GiveWhatPlainOnesDo) {
  const Shape cube{2, 4, 6};
  for (const MeshSizes& sizes : {MeshSizes{2}, MeshSizes{2, 2}, MeshSizes{1, 2}}) {
    EXPECT_LIKE_PLAIN(sizes, cube, transpose(x));
    EXPECT_LIKE_PLAIN(sizes, cube, transpose(x, 0, -1));
    EXPECT_LIKE_PLAIN(sizes, cube, transpose(x, {1, 2, 0}));
    EXPECT_LIKE_PLAIN(sizes, cube, permute_dims(x, {-1, 0, 1}));
    EXPECT_LIKE_PLAIN(sizes, cube, matrix_transpose(x));
    EXPECT_LIKE_PLAIN(sizes, cube, moveaxis(x, 0, 2));
    EXPECT_LIKE_PLAIN(sizes, cube, expand_dims(x));
    EXPECT_LIKE_PLAIN(sizes, cube, expand_dims(x, {1, -1}));
    EXPECT_LIKE_PLAIN(sizes, cube, squeeze(expand_dims(x, {0, 2}), {0, 2}));
    EXPECT_LIKE_PLAIN(sizes, cube, squeeze(expand_dims(x, 1)));
    EXPECT_LIKE_PLAIN(sizes, cube, broadcast_to(x, {3, 2, 4, 6}));
    EXPECT_LIKE_PLAIN(sizes, cube, broadcast_to(expand_dims(x, 1), {2, 5, 4, 6}));
    EXPECT_LIKE_PLAIN(sizes, cube, slice(x, 1, {1, 3}));
    EXPECT_LIKE_PLAIN(sizes, cube, slice(x, -1, {.step = -2}));
    EXPECT_LIKE_PLAIN(sizes, cube, flip(x, {0, 1}));
    EXPECT_LIKE_PLAIN(sizes, cube, flip(x));
    EXPECT_LIKE_PLAIN(sizes, cube, split(x, 2, 1)[1]);
    EXPECT_LIKE_PLAIN(sizes, cube, split(x, {1, -1}, -1)[1]);
    EXPECT_LIKE_PLAIN(sizes, cube, split(x, {1}).back());
    EXPECT_LIKE_PLAIN(sizes, cube, unstack(x)[1]);
    EXPECT_LIKE_PLAIN(sizes, cube, unstack(x, -1).back());
    EXPECT_LIKE_PLAIN(sizes, cube, diagonal(x));
    EXPECT_LIKE_PLAIN(sizes, cube, diagonal(x, {.offset = 1, .axis1 = 2, .axis2 = 0}));
    EXPECT_LIKE_PLAIN(sizes, cube, broadcast_arrays(std::vector{x, expand_dims(x, 1)})[0]);
    EXPECT_LIKE_PLAIN(sizes, cube, broadcast_arrays(std::vector{x, expand_dims(x, 1)})[1]);
  }
}

TEST_P(ShardedViews, ReshapesGiveWhatPlainOnesDo) {
  const Shape cube{2, 4, 6};
  for (const MeshSizes& sizes : {MeshSizes{2}, MeshSizes{2, 2}, MeshSizes{1, 2}}) {
    EXPECT_LIKE_PLAIN(sizes, cube, reshape(x, -1));
    EXPECT_LIKE_PLAIN(sizes, cube, reshape(x, {8, 6}));
    EXPECT_LIKE_PLAIN(sizes, cube, reshape(x, {2, 24}));
    EXPECT_LIKE_PLAIN(sizes, cube, reshape(x, {2, 2, 2, 6}));
    EXPECT_LIKE_PLAIN(sizes, cube, reshape(x, {1, 2, 1, 4, 6, 1}));
    EXPECT_LIKE_PLAIN(sizes, cube, reshape(x, {2, 4, 3, 2}));
    EXPECT_LIKE_PLAIN(sizes, cube, reshape(x, {3, 16}));
    EXPECT_LIKE_PLAIN(sizes, cube, reshape(x, cube));
    EXPECT_LIKE_PLAIN(sizes, cube, reshape(transpose(x), {3, 2, 8}));  // a copy of each shard
    EXPECT_LIKE_PLAIN(sizes, Shape({0, 4}), reshape(x, {2, 0}));
  }
  EXPECT_LIKE_PLAIN(MeshSizes{2}, Shape(6), reshape(x, {2, 3}));
  EXPECT_LIKE_PLAIN(MeshSizes{1}, Shape{}, reshape(x, {1, 1}));
}

TEST_P(ShardedViews, TakeTheShardingWithTheAxis) {
  const Mesh mesh = mesh_of({2, 2});
  const ShardedTensor x = ones({4, 6, 2}, Layout({"x", unsharded, "y"}, mesh));
  const auto specs = [](const ShardedTensor& each) { return each.layout().specs_text(); };
  EXPECT_EQ(specs(transpose(x)), "(y, unsharded, x)");
  EXPECT_EQ(specs(transpose(x, 0, 1)), "(unsharded, x, y)");
  EXPECT_EQ(specs(expand_dims(x, 1)), "(x, unsharded, unsharded, y)");
  EXPECT_EQ(specs(broadcast_to(x, {3, 4, 6, 2})), "(unsharded, x, unsharded, y)");
  EXPECT_EQ(specs(slice(x, 1, {0, 3})), "(x, unsharded, y)");
  EXPECT_EQ(specs(split(x, 3, 1)[2]), "(x, unsharded, y)");
  EXPECT_EQ(specs(unstack(x, 1)[5]), "(x, y)");
  EXPECT_EQ(specs(diagonal(expand_dims(x, 0), {.axis1 = 0, .axis2 = 2})), "(x, y, unsharded)");
  EXPECT_EQ(specs(broadcast_arrays({x, expand_dims(x, 0)})[0]), "(unsharded, x, unsharded, y)");
  EXPECT_EQ(specs(reshape(x, {24, 2})), "(x, y)");
  EXPECT_EQ(specs(reshape(x, {2, 2, 6, 2})), "(x, unsharded, unsharded, y)");
}

TEST_P(ShardedViews, CopyNothing) {
  const Mesh mesh = mesh_of({2});
  const ShardedTensor x = ones({4, 6}, Layout({"x", unsharded}, mesh));
  for (const ShardedTensor& view :
       {transpose(x), expand_dims(x), slice(x, 1, {2, 4}), flip(x, 1), broadcast_to(x, {3, 4, 6}), reshape(x, {2, 2, 6}),
        split(x, 2, 1)[1], unstack(x, 1)[3], diagonal(expand_dims(x), {.axis1 = 0, .axis2 = 2}),
        broadcast_arrays({x, expand_dims(x)})[0]}) {
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(view.shards()[i].impl().buffer().get(), x.shards()[i].impl().buffer().get());
  }
}

TEST_P(ShardedViews, ServeAsInputsOfOpsAndCollectives) {
  const Mesh mesh = mesh_of({2, 2});
  const Tensor a = whole_numbers({4, 6}, 1);
  const ShardedTensor x = shard(a, Layout({"x", "y"}, mesh));
  const ShardedTensor rows = shard(a, Layout({"x", unsharded}, mesh));
  const ShardedTensor product = matmul(transpose(rows), rows);
  expect_sharded(product, product.layout(), matmul(transpose(a), a), "matmul");
  const Layout whole = Layout::replicated(mesh, 2);
  expect_sharded(relayout(transpose(x), whole), whole, transpose(a), "relayout");
  expect_same(to_tensor(transpose(x)), transpose(a), "to_tensor");
}

TEST_P(ShardedViews, ImpossibleOnesAreRefusedWithTheNumbersAndTheRelayout) {
  const Mesh mesh = mesh_of({2, 2});
  const ShardedTensor x = ones({4, 6}, Layout({"x", "y"}, mesh));
  EXPECT_EQ(refusal<InvalidArgument>([&] {
              slice(x, 1, {0, 3});
            }),
            "slice: axis 1 of shape (4, 6) is sharded over the 2 devices of mesh dimension 'y', and its elements would have to "
            "change devices. Use relayout(x, Layout({\"x\", unsharded}, mesh)) first");
  EXPECT_THAT(refusal<InvalidArgument>([&] { flip(x); }),
              HasSubstr("flip: axis 0 of shape (4, 6) is sharded over the 2 devices"));
  EXPECT_THAT(refusal<InvalidArgument>([&] { split(x, 2, 1); }),
              HasSubstr("split: axis 1 of shape (4, 6) is sharded over the 2 devices"));
  EXPECT_THAT(refusal<InvalidArgument>([&] { unstack(x); }), HasSubstr("unstack: axis 0 of shape (4, 6) is sharded"));
  EXPECT_THAT(refusal<InvalidArgument>([&] { diagonal(x); }),
              HasSubstr("diagonal: axis 0 of shape (4, 6) is sharded over the 2 devices of mesh dimension 'x'"));
  EXPECT_EQ(refusal<InvalidArgument>([&] { reshape(x, -1); }),
            "reshape: axis 1 of shape (4, 6) is sharded over the 2 devices of mesh dimension 'y', and of axes that are joined on "
            "the way to (24,) only the first may be. Use relayout(x, Layout({\"x\", unsharded}, mesh)) first");
  EXPECT_EQ(refusal<InvalidArgument>([&] {
              reshape(x, {4, 3, 2});
            }),
            "reshape: axis 1 of shape (4, 6) is sharded over the 2 devices of mesh dimension 'y', and becomes axis 1 of "
            "(4, 3, 2), whose 3 elements they cannot share evenly. Use relayout(x, Layout({\"x\", unsharded}, mesh)) first");
}

TEST_P(ShardedViews, MistakesAreToldOfTheWholeTensor) {
  const ShardedTensor x = ones({2, 6}, Layout({"x", unsharded}, mesh_of({2})));
  EXPECT_THAT(refusal<ShapeError>([&] { squeeze(x, 0); }), HasSubstr("axis 0 of the shape (2, 6) has not size 1"));
  EXPECT_THAT(refusal<ShapeError>([&] { permute_dims(x, {0}); }), HasSubstr("for a tensor of shape (2, 6)"));
  EXPECT_THAT(refusal<ShapeError>([&] { broadcast_to(x, {2, 5}); }), HasSubstr("(2, 6) cannot be broadcast to (2, 5)"));
  EXPECT_THAT(refusal<ShapeError>([&] { reshape(x, {5, -1}); }), HasSubstr("a tensor of shape (2, 6) cannot be reshaped"));
  EXPECT_THAT(refusal<ShapeError>([&] { split(x, 4, 1); }),
              HasSubstr("split: axis 1 of the shape (2, 6) cannot be cut into 4 parts of equal size"));
  EXPECT_THAT(refusal<ShapeError>([&] {
                broadcast_arrays({x, transpose(x)});
              }),
              HasSubstr("broadcast_arrays: the shape (6, 2) does not broadcast with (2, 6)"));
  EXPECT_THROW(diagonal(x, {.axis1 = 1}), ShapeError);
  const auto names = [](const char* function) {
    return StartsWith(std::string(function) + ": axis 9 does not exist in a tensor");
  };
  EXPECT_THAT(refusal<ShapeError>([&] { unstack(x, 9); }), names("unstack"));
  EXPECT_THAT(refusal<ShapeError>([&] { transpose(x, 0, 9); }), names("transpose"));
  EXPECT_THAT(refusal<ShapeError>([&] { transpose(x, Dims{0, 9}); }), names("transpose"));
  EXPECT_THAT(refusal<ShapeError>([&] { permute_dims(x, {0, 9}); }), names("permute_dims"));
  EXPECT_THAT(refusal<ShapeError>([&] { slice(x, 9, {}); }), names("slice"));
  EXPECT_THAT(refusal<ShapeError>([&] { split(x, 2, 9); }), names("split"));
  EXPECT_THAT(refusal<ShapeError>([&] { split(x, std::vector<std::int64_t>{1}, 9); }), names("split"));
  EXPECT_THAT(refusal<ShapeError>([&] { diagonal(x, {.axis1 = 9}); }), names("diagonal"));
  EXPECT_THAT(refusal<ShapeError>([&] { sum(x, 9); }), names("sum"));
  EXPECT_THAT(refusal<ShapeError>([&] { mean(x, 9); }), names("mean"));
  EXPECT_THAT(refusal<ShapeError>([&] { matrix_transpose(squeeze(sum(x, 0, {.keepdims = true}), 0)); }),
              StartsWith("matrix_transpose needs two axes"));
  EXPECT_THROW(transpose(ShardedTensor()), InvalidArgument);
}

TEST_P(ShardedViews, AssignmentsMeanTheOperator) {
  const Mesh mesh = mesh_of({2});
  const Layout layout = Layout::batch_sharded(mesh, "x", 1);
  const Tensor a = whole_numbers({6}, 1);
  ShardedTensor x = shard(a, layout);
  const ShardedTensor before = x;
  x += 2;
  x *= before;
  x -= 1.5;
  x /= 4;
  expect_sharded(x, layout, ((a + 2) * a - 1.5) / 4, "assignments");
  expect_sharded(before, layout, a, "the value before");
  EXPECT_EQ(full({4}, layout, 3).dtype(), DType::i64);
  EXPECT_EQ(full({4}, layout, 0.5).dtype(), DType::f32);
}

}  // namespace
}  // namespace tutti::meshes

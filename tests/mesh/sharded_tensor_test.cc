// Sharded tensors: put together, taken apart, cut up, made in place.
#include <sstream>

#include "conformance/recorder.h"
#include "mesh/meshes.h"

namespace tutti::meshes {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Sharded : public OnDevices {};
TUTTI_ON_ALL_DEVICES(Sharded);

TEST_P(Sharded, IsWhatWasCutUp) {
  const Tensor x = whole_numbers({24, 6, 12}, 1);
  for (const MeshSizes& sizes : mesh_sizes()) {
    const Mesh mesh = mesh_of(sizes);
    for (const Layout& layout : all_layouts(mesh, 3)) {
      if (layout.num_shards(1) == 4 || layout.num_shards(1) == 8 || layout.num_shards(2) == 8) continue;
      const ShardedTensor cut = shard(x, layout);
      expect_sharded(cut, layout, x, layout.to_string());
      expect_same(to_tensor(cut), x, layout.to_string());
      expect_same(to_tensor(cut, "CPU:0"), x, layout.to_string());
      EXPECT_EQ(read<float>(cut), read<float>(x));
      expect_sharded(pack(unpack(cut), layout), layout, x, layout.to_string());
    }
  }
}

TEST_P(Sharded, TakesShardsFromElsewhere) {
  const Mesh mesh = mesh_of({2});
  const Tensor x = whole_numbers({4, 3}, 2);
  const Layout layout({"x", unsharded}, mesh);
  expect_sharded(pack({slice(x, 0, {0, 2}), slice(x, 0, {2, 4})}, layout), layout, x, "views on another device");
  set_copy_policy(CopyPolicy::explicit_only);
  EXPECT_THROW(pack({copy_to(x, "CPU:0"), copy_to(x, mesh.local_devices()[0]->name())}, layout), CopyForbidden);
}

TEST_P(Sharded, RefusesShardsThatDoNotGoTogether) {
  const Mesh mesh = mesh_of({2});
  const Layout layout = Layout::batch_sharded(mesh, "x", 1);
  EXPECT_EQ(refusal<InvalidArgument>([&] { pack({zeros({2})}, layout); }),
            "pack: 1 tensors were given for the 2 devices that this process has in the mesh; give one for each");
  EXPECT_EQ(refusal<ShapeError>([&] {
              pack({zeros({2}), zeros({3})}, layout);
            }),
            "pack: all shards must have one shape and dtype; shard 0 is float32(2,), shard 1 is float32(3,)");
  EXPECT_EQ(refusal<ShapeError>([&] {
              pack({zeros({2}), zeros({2}, DType::i32)}, layout);
            }),
            "pack: all shards must have one shape and dtype; shard 0 is float32(2,), shard 1 is int32(2,)");
  EXPECT_EQ(refusal<ShapeError>([&] {
              pack({zeros({2, 2}), zeros({2, 2})}, layout);
            }),
            "the layout (x) is for tensors of 1 axes; the shape (2, 2) has 2");
  EXPECT_THAT(refusal<ShapeError>([&] { shard(zeros({5}), layout); }), StartsWith("axis 0 of shape (5,) has 5 elements"));
  EXPECT_THAT(refusal<InvalidArgument>([] { static_cast<void>(ShardedTensor().shape()); }), HasSubstr("never given a value"));
}

TEST_P(Sharded, DoesNotKeepTheWholeTensorAlive) {
  const Mesh mesh = mesh_of({4});
  const Layout layout = Layout::batch_sharded(mesh, "x", 1);
  const ShardedTensor cut = shard(zeros({1024}), layout);
  const ShardedTensor again = relayout(shard(zeros({1024}), Layout::replicated(mesh, 1)), layout);
  for (const ShardedTensor& x : {cut, again}) {
    for (const Tensor& each : x.shards()) EXPECT_EQ(each.impl().buffer()->bytes(), 1024U);
  }
}

TEST_P(Sharded, IsMadeWhereItLiesWithTheSameValues) {
  for (const MeshSizes& sizes : mesh_sizes()) {
    const Mesh mesh = mesh_of(sizes);
    for (const Layout& layout : all_layouts(mesh, 2)) {
      const Shape shape{24, 24};
      const std::string what = layout.to_string();
      expect_sharded(zeros(shape, layout), layout, zeros(shape), what);
      expect_sharded(ones(shape, layout, DType::i16), layout, ones(shape, DType::i16), what);
      expect_sharded(full(shape, layout, 2.5, DType::f64), layout, full(shape, 2.5, DType::f64), what);
      const Shape odd{24, 120 / (layout.num_shards(1) == 8 ? 5 : layout.num_shards(1) == 3 ? 8 : 24)};
      if (odd[1] % layout.num_shards(1) != 0) continue;
      for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::boolean}) {
        const UniformOptions options{.key = 7, .counter = 5, .low = 0, .high = 1, .dtype = dtype};
        expect_sharded(uniform(odd, layout, options), layout, uniform(odd, options), what);
      }
      for (const DType dtype : {DType::f32, DType::f64, DType::f16})
        expect_sharded(normal(odd, layout, {.key = 3, .dtype = dtype}), layout, normal(odd, {.key = 3, .dtype = dtype}), what);
      for (const DType dtype : {DType::i32, DType::i64}) {
        expect_sharded(randint(odd, layout, -9, 9, {.key = 3, .dtype = dtype}), layout,
                       randint(odd, -9, 9, {.key = 3, .dtype = dtype}), what);
      }
      expect_sharded(bernoulli(odd, layout, 0.4, {.key = 1, .dtype = DType::f64}), layout,
                     bernoulli(odd, 0.4, {.key = 1, .dtype = DType::f64}), what);
    }
    for (const Layout& layout : all_layouts(mesh, 1)) {
      expect_sharded(arange(5, 29, layout), layout, arange(5, 29), layout.to_string());
      expect_sharded(arange(5, -42, layout, -2), layout, arange(5, -42, -2), layout.to_string());
      expect_sharded(arange(5, 5, layout), layout, arange(5, 5), layout.to_string());
    }
  }
  const Layout layout = Layout::replicated(mesh_of({2}), 0);
  expect_sharded(uniform({}, layout, {.key = 7}), layout, uniform({}, {.key = 7}), "a tensor without axes");
}

TEST_P(Sharded, DrawsWithoutAKeyAdvanceTheGeneratorAsThoseOfAPlainTensorDo) {
  const Layout layout = Layout::batch_sharded(mesh_of({4}), "x", 2);
  const Shape shape{8, 3};
  set_seed(21);
  const Tensor plain = uniform(shape);
  const Tensor next = uniform(shape);
  EXPECT_NE(read<float>(plain), read<float>(next));
  set_seed(21);
  expect_sharded(uniform(shape, layout), layout, plain, "the first");
  expect_sharded(uniform(shape, layout), layout, next, "the second");
  Generator own(21);
  expect_sharded(uniform(shape, layout, {.generator = &own}), layout, plain, "a generator of the same seed");
}

// Whoever runs recorded draws again gets what the generator has next, and devices that hold the same elements get the same.
TEST_P(Sharded, DrawsThatAreRunAgainAreThoseThatAPlainTensorsWouldBe) {
  const Mesh mesh = mesh_of({4});
  const Shape shape{8, 4};
  for (const Layout& layout :
       {Layout::batch_sharded(mesh, "x", 2), Layout::inner_sharded(mesh, "x", 2), Layout::replicated(mesh, 2)}) {
    set_seed(21);
    const std::vector<Tensor> plain{uniform(shape), uniform(shape), uniform(shape), uniform(shape)};
    set_seed(21);
    conformance::Recorder recorder;
    ShardedTensor made;
    {
      const ExecutorScope recording(recorder);
      made = uniform(shape, layout);
    }
    expect_sharded(made, layout, plain[0], layout.to_string());
    for (std::size_t run = 1; run < 4; ++run) {
      const std::vector<Tensor> values = recorder.replay({});
      std::vector<Tensor> shards;
      for (const Tensor& shard : made.shards()) shards.push_back(values[recorder.slot_of(shard)]);
      expect_sharded(pack(shards, layout), layout, plain[run], layout.to_string() + ", again");
    }
    set_seed(21);
    const auto step = capture([&] { return uniform(shape, layout).shards(); });
    for (const Tensor& wanted : plain) expect_sharded(pack(step(), layout), layout, wanted, layout.to_string() + ", captured");
  }
}

// Each process would draw from a generator of its own, and their parts would not be of one tensor.
TEST_P(Sharded, ADrawOnAMeshOfSeveralProcessesNeedsAKeyOrAGenerator) {
  const std::string type = GetParam().type;
  const Mesh mesh = create_distributed_mesh({{"x", 4}}, {type + ":0", type + ":1"}, {.rank = 0, .world = 2});
  const Layout layout = Layout::batch_sharded(mesh, "x", 1);
  EXPECT_THAT(refusal<InvalidArgument>([&] { uniform({8}, layout); }), HasSubstr("devices of 2 processes"));
  Generator same(3);
  EXPECT_EQ(uniform({8}, layout, {.generator = &same}).shards()[0].shape(), Shape({2}));
  EXPECT_EQ(uniform({8}, layout, {.key = 3}).shards()[0].shape(), Shape({2}));
}

TEST_P(Sharded, RefusesToMakeWhatCannotBe) {
  const Layout layout = Layout::batch_sharded(mesh_of({4}), "x", 1);
  EXPECT_THAT(refusal<ShapeError>([&] { zeros({6}, layout); }),
              HasSubstr("evenly divisible by the 4 devices of mesh dimension 'x'"));
  EXPECT_THROW(arange(0, 5, layout), ShapeError);
  EXPECT_THROW(arange(0, 5, layout, 0), InvalidArgument);
  EXPECT_THROW(arange(INT64_MIN, INT64_MAX, layout), InvalidArgument);
  EXPECT_THROW(uniform({-4}, layout), ShapeError);
  EXPECT_THROW(uniform({INT64_MAX / 4 * 4, 4}, Layout::batch_sharded(mesh_of({4}), "x", 2)), ShapeError);
}

TEST_P(Sharded, IsPrintedWithItsLayout) {
  std::ostringstream out;
  out << arange(0, 4, Layout::batch_sharded(mesh_of({2}), "x", 1)) << ", " << ShardedTensor();
  EXPECT_EQ(out.str(), "tutti.Tensor([0 1 2 3], shape=(4,), dtype=int64) in the layout (x), tutti.ShardedTensor(undefined)");
}

TEST_P(Sharded, HasAPartOnlyWhereOtherProcessesHaveTheRest) {
  const std::string device = GetParam().type + ":0";
  const Mesh mesh = create_distributed_mesh({{"x", 2}}, {device}, {.rank = 1, .world = 2});
  const ShardedTensor x = arange(0, 6, Layout::batch_sharded(mesh, "x", 1));
  ASSERT_EQ(x.shards().size(), 1U);
  expect_same(x.shards()[0], arange(3, 6), "the second half");
  EXPECT_THAT(refusal<InvalidState>([&] { to_tensor(x); }), testing::HasSubstr("needs 2 processes and this one is alone"));
  const ShardedTensor whole = relayout(arange(0, 6, Layout::replicated(mesh, 1)), Layout::batch_sharded(mesh, "x", 1));
  expect_same(whole.shards()[0], arange(3, 6), "a slice needs nobody else");
  EXPECT_THAT(refusal<InvalidState>([&] { relayout(x, Layout::replicated(mesh, 1)); }),
              testing::HasSubstr("needs 2 processes and this one is alone"));
  EXPECT_THROW(zeros({2}, Layout::replicated(mesh.sub_mesh({{"x", 0}}), 1)), InvalidArgument);
}

}  // namespace
}  // namespace tutti::meshes

// Relayout: the same tensor otherwise, by as little movement as the layouts allow.
#include "mesh/meshes.h"

namespace tutti::meshes {
namespace {

using testing::HasSubstr;

class Relayout : public OnDevices {};
TUTTI_ON_ALL_DEVICES(Relayout);

TEST_P(Relayout, GoesFromEveryLayoutToEveryOther) {
  const Tensor x = whole_numbers({24, 24}, 1);
  for (const MeshSizes& sizes : mesh_sizes()) {
    const std::vector<Layout> layouts = all_layouts(mesh_of(sizes), 2);
    for (const Layout& from : layouts) {
      const ShardedTensor cut = shard(x, from);
      for (const Layout& to : layouts) {
        expect_sharded(relayout(cut, to), to, x, from.to_string() + " to " + to.specs_text());
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(Relayout, KeepsEveryDtype) {
  const Mesh mesh = mesh_of({2, 2});
  const Layout from({"x", "y"}, mesh);
  const Layout to({"y", "x"}, mesh);
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const Tensor x = whole_numbers({4, 8}, 1, static_cast<DType>(i));
    expect_sharded(relayout(shard(x, from), to), to, x, std::string(to_string(x.dtype())));
  }
}

TEST_P(Relayout, TakesTensorsWithoutElements) {
  const Mesh mesh = mesh_of({2});
  const Tensor x = zeros({0, 4});
  const Layout from({"x", unsharded}, mesh);
  const Layout to({unsharded, "x"}, mesh);
  expect_sharded(relayout(shard(x, from), to), to, x, "0 x 4");
}

class Steps : public testing::Test {
 protected:
  void SetUp() override {
    simulate_gpus(6, {.memory_bytes = MiB(16)});
    mesh_ = create_mesh({{"x", 2}, {"y", 3}});
  }
  std::string steps(const std::vector<std::string>& from, const std::vector<std::string>& to) const {
    return to_string(relayout_steps(Layout(from, mesh_), Layout(to, mesh_)), mesh_);
  }
  Mesh mesh_;
};

TEST_F(Steps, AreNoneWhereNothingChanges) { EXPECT_EQ(steps({"x", unsharded}, {"x", unsharded}), "nothing"); }

TEST_F(Steps, SliceWhatWasWhole) {
  EXPECT_EQ(steps({unsharded, unsharded}, {"x", "y"}), "slice axis 0 over 'x', slice axis 1 over 'y'");
}

TEST_F(Steps, GatherAlongTheDimensionThatGoesOnly) {
  EXPECT_EQ(steps({"x", "y"}, {"x", unsharded}), "all_gather axis 1 over 'y'");
}

TEST_F(Steps, MoveAnAxisByAnAllToAll) {
  EXPECT_EQ(steps({"x", unsharded}, {unsharded, "x"}), "all_to_all over 'x' from axis 0 to axis 1");
  // y leaves axis 1 first, so that x finds it free.
  EXPECT_EQ(steps({"x", "y", unsharded}, {unsharded, "x", "y"}),
            "all_to_all over 'y' from axis 1 to axis 2, all_to_all over 'x' from axis 0 to axis 1");
}

TEST_F(Steps, SliceBeforeTheyMove) {
  EXPECT_EQ(steps({"x", unsharded, unsharded}, {unsharded, "x", "y"}),
            "slice axis 2 over 'y', all_to_all over 'x' from axis 0 to axis 1");
}

TEST_F(Steps, GatherTheSmallerDimensionOfACircle) {
  EXPECT_EQ(steps({"x", "y"}, {"y", "x"}),
            "all_gather axis 0 over 'x', all_to_all over 'y' from axis 1 to axis 0, slice axis 1 over 'x'");
}

TEST_F(Steps, NeverGatherAllWhereADimensionStays) {
  for (const Layout& from : all_layouts(mesh_, 3)) {
    for (const Layout& to : all_layouts(mesh_, 3)) {
      Layout now = from;
      for (const RelayoutStep& step : relayout_steps(from, to)) {
        if (step.kind != RelayoutStep::Kind::slice) now = now.with(step.from, {});
        if (step.kind != RelayoutStep::Kind::all_gather) now = now.with(step.to, step.dim);
        const bool some_stays = !from.is_fully_replicated() && !to.is_fully_replicated() &&
                                (from.axis_of(0).has_value() == to.axis_of(0).has_value() ||
                                 from.axis_of(1).has_value() == to.axis_of(1).has_value());
        if (some_stays) {
          EXPECT_FALSE(now.is_fully_replicated()) << from.specs_text() << " to " << to.specs_text();
        }
      }
      EXPECT_EQ(now, to);
    }
  }
}

TEST_F(Steps, AreRefusedBetweenMeshesAndRanks) {
  const ShardedTensor x = zeros({6}, Layout::batch_sharded(mesh_, "x", 1));
  EXPECT_THAT(refusal<InvalidArgument>([&] {
                relayout(x, Layout::replicated(create_mesh({{"x", 6}}), 1));
              }),
              HasSubstr("relayout stays on one mesh; the tensor is on |x=2,y=3|"));
  EXPECT_EQ(refusal<ShapeError>([&] { relayout(x, Layout::replicated(mesh_, 2)); }),
            "relayout: the layout (unsharded, unsharded) is for tensors of 2 axes; this one has 1");
  const ShardedTensor odd = zeros({4}, Layout::batch_sharded(mesh_, "x", 1));
  EXPECT_THAT(
      refusal<ShapeError>([&] { relayout(odd, Layout::batch_sharded(mesh_, "y", 1)); }),
      HasSubstr("axis 0 of shape (4,) has 4 elements, which must be evenly divisible by the 3 devices of mesh dimension 'y'"));
}

}  // namespace
}  // namespace tutti::meshes

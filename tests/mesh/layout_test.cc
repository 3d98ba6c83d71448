// Layouts: what each device holds, and what is refused.
#include "mesh/meshes.h"

namespace tutti::meshes {
namespace {

using testing::HasSubstr;

class LayoutTest : public testing::Test {
 protected:
  void SetUp() override {
    simulate_gpus(6, {.memory_bytes = MiB(16)});
    mesh_ = create_mesh({{"x", 2}, {"y", 3}}, {}, {.name = "grid"});
  }
  Mesh mesh_;
};

TEST_F(LayoutTest, SaysWhatEachDeviceHolds) {
  const Layout layout({"y", unsharded, "x"}, mesh_);
  EXPECT_EQ(to_string(layout.shard_shape({6, 5, 4})), "(2, 5, 2)");
  EXPECT_EQ(to_string(layout.shard_offset({6, 5, 4}, 0)), "(0, 0, 0)");
  EXPECT_EQ(to_string(layout.shard_offset({6, 5, 4}, 5)), "(4, 0, 2)");  // x = 1, y = 2
  EXPECT_EQ(to_string(layout.global_shape({2, 5, 2})), "(6, 5, 4)");
  EXPECT_EQ(to_string(layout.shard_shape({0, 5, 4})), "(0, 5, 2)");
  EXPECT_EQ(layout.num_shards(0), 3);
  EXPECT_EQ(layout.num_shards(1), 1);
  EXPECT_FALSE(layout.is_fully_replicated());
}

TEST_F(LayoutTest, HasShortFormsForTheUsualOnes) {
  EXPECT_EQ(Layout::replicated(mesh_, 2).specs_text(), "(unsharded, unsharded)");
  EXPECT_TRUE(Layout::replicated(mesh_, 2).is_fully_replicated());
  EXPECT_EQ(Layout::batch_sharded(mesh_, "x", 3).specs_text(), "(x, unsharded, unsharded)");
  EXPECT_EQ(Layout::inner_sharded(mesh_, "y", 3).specs_text(), "(unsharded, unsharded, y)");
  EXPECT_EQ(Layout::replicated(mesh_, 0).specs_text(), "()");
  EXPECT_THROW(Layout::batch_sharded(mesh_, "x", 0), InvalidArgument);
}

TEST_F(LayoutTest, RefusesDimensionsLikeTensorFlow) {
  EXPECT_EQ(refusal<InvalidArgument>([&] {
              Layout({"x", "x"}, mesh_);
            }),
            "Mesh dimension x was repeated in sharding specification (x, x). A mesh dimension can shard one axis only");
  EXPECT_EQ(refusal<InvalidArgument>([&] { Layout({"z"}, mesh_); }),
            "z: A dimension sharding must either be a valid mesh dimension or UNSHARDED. The mesh has: x, y");
  EXPECT_THROW(Layout(std::vector<std::string>(9, unsharded), mesh_), InvalidArgument);
  EXPECT_THROW(Layout({unsharded}, Mesh()), InvalidArgument);
}

TEST_F(LayoutTest, RefusesAChangeThatCannotBe) {
  const Layout layout({"x", unsharded}, mesh_);
  EXPECT_EQ(layout.with(1, 1).specs_text(), "(x, y)");
  EXPECT_EQ(layout.with(0, {}).specs_text(), "(unsharded, unsharded)");
  EXPECT_THAT(refusal<InvalidArgument>([&] { static_cast<void>(layout.with(1, 0)); }),
              HasSubstr("Mesh dimension x was repeated"));
  EXPECT_THROW(static_cast<void>(layout.with(2, 0)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(layout.with(1, 2)), InvalidArgument);
}

TEST_F(LayoutTest, RefusesUnevenShardsWithTheNumbers) {
  EXPECT_EQ(
      refusal<ShapeError>([&] {
        static_cast<void>(Layout({unsharded, "y"}, mesh_).shard_shape({2, 7}));
      }),
      "axis 1 of shape (2, 7) has 7 elements, which must be evenly divisible by the 3 devices of mesh dimension 'y'; pad it to 9 "
      "or leave the axis unsharded");
  EXPECT_EQ(refusal<ShapeError>([&] {
              static_cast<void>(Layout({"x"}, mesh_).shard_shape({2, 2}));
            }),
            "the layout (x) is for tensors of 1 axes; the shape (2, 2) has 2");
  EXPECT_THROW(static_cast<void>(Layout({"x"}, mesh_).shard_shape({-2})), ShapeError);
  EXPECT_THROW(static_cast<void>(Layout({"x"}, mesh_).global_shape({INT64_MAX})), ShapeError);
}

TEST_F(LayoutTest, IsReadBackFromItsText) {
  const Layout layout({"x", unsharded}, mesh_);
  EXPECT_EQ(layout.to_string(),
            "sharding_specs:x,unsharded, mesh:grid|x=2,y=3|/device:GPU:0,/device:GPU:1,/device:GPU:2,/device:GPU:3,/device:GPU:4,"
            "/device:GPU:5");
  for (const Layout& each : all_layouts(mesh_, 3)) EXPECT_EQ(parse_layout(each.to_string()), each);
  EXPECT_EQ(parse_layout(Layout::replicated(mesh_, 0).to_string()), Layout::replicated(mesh_, 0));
  EXPECT_THAT(Layout::replicated(mesh_, 0).to_string(), HasSubstr("sharding_specs:scalar, mesh:grid"));
}

TEST_F(LayoutTest, SaysWhereATextIsWrong) {
  const auto fault = [](const char* text) { return refusal<InvalidArgument>([&] { parse_layout(text); }); };
  EXPECT_EQ(fault("x,y"), "'x,y': 'sharding_specs:' expected at position 0");
  EXPECT_EQ(fault("sharding_specs:"), "'sharding_specs:': a mesh dimension, 'unsharded' or 'scalar' expected at position 15");
  EXPECT_EQ(fault("sharding_specs:x|"), "'sharding_specs:x|': ',' expected at position 16");
  EXPECT_THAT(fault("sharding_specs:z, mesh:|x=1|GPU:0"), HasSubstr("z: A dimension sharding must either be"));
  EXPECT_THAT(fault("sharding_specs:x,x, mesh:|x=1|GPU:0"), HasSubstr("Mesh dimension x was repeated"));
  EXPECT_THAT(fault("sharding_specs:a,a,a,a,a,a,a,a,a,a,a, mesh:|x=1|GPU:0"), HasSubstr("at most 8 axes"));
}

}  // namespace
}  // namespace tutti::meshes

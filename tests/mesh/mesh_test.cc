// Meshes: what they are made of, their parts, and what is refused.
#include "mesh/meshes.h"

namespace tutti::meshes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class MeshTest : public testing::Test {
 protected:
  void SetUp() override {
    simulate_gpus(6, {.memory_bytes = MiB(16)});
    mesh_ = create_mesh({{"x", 2}, {"y", 3}}, {}, {.name = "grid"});
  }
  Mesh mesh_;
};

TEST_F(MeshTest, LiesInRowOrderOverItsDevices) {
  EXPECT_EQ(mesh_.name(), "grid");
  EXPECT_EQ(mesh_.size(), 6U);
  EXPECT_EQ(mesh_.dim_size("y"), 3);
  EXPECT_TRUE(mesh_.has_dim("x"));
  EXPECT_FALSE(mesh_.has_dim("z"));
  EXPECT_EQ(to_string(mesh_.coordinates(4)), "(1, 1)");
  for (std::size_t i = 0; i < mesh_.size(); ++i) EXPECT_EQ(mesh_.position(mesh_.coordinates(i)), i);
  EXPECT_EQ(to_string(mesh_.devices()[5]), "GPU:5");
  EXPECT_EQ(mesh_.local_devices()[5]->name(), "/job:localhost/replica:0/task:0/device:GPU:5");
  EXPECT_THAT(mesh_.clients(), ElementsAre(0));
  EXPECT_TRUE(mesh_.is_local());
}

TEST_F(MeshTest, FillsOneOpenSize) {
  EXPECT_EQ(create_mesh({{"x", -1}}).dim_size("x"), 6);
  EXPECT_EQ(create_mesh({{"x", 3}, {"y", -1}}).dim_size("y"), 2);
  EXPECT_EQ(
      refusal<InvalidArgument>([] {
        create_mesh({{"x", 4}, {"y", -1}});
      }),
      "create_mesh: the size of 'y' is -1, but 6 devices cannot be shared out evenly over the 4 places of the other dimensions");
  EXPECT_EQ(refusal<InvalidArgument>([] {
              create_mesh({{"x", -1}, {"y", -1}});
            }),
            "create_mesh: the sizes of 'x' and 'y' are both -1; only one can be what the others leave");
}

TEST_F(MeshTest, ItsDevicesOpenAScope) {
  const Mesh mesh = create_mesh({{"x", 2}}, {"GPU:3", "GPU:5"});
  const auto device_in = [](const auto& device) {
    const DeviceScope on(device);
    return ones({1}).device();
  };
  const std::string second = "/job:localhost/replica:0/task:0/device:GPU:5";
  EXPECT_EQ(device_in(mesh.device(1)), second);
  EXPECT_EQ(device_in(mesh.devices()[1]), second);
  EXPECT_EQ(device_in(mesh.local_devices()[1]), second);
  EXPECT_EQ(device_in(*mesh.local_devices()[1]), second);
  EXPECT_EQ(refusal<InvalidArgument>([&] { (void)mesh.device(2); }), "the mesh has 2 devices; there is none at position 2");
  const Mesh far = create_distributed_mesh({{"x", 2}}, {"GPU:3"}, {.rank = 0, .world = 2});
  EXPECT_EQ(refusal<InvalidArgument>([&] { (void)far.device(1); }),
            "the device at position 1 of the mesh is GPU:3 of client 1; this process is client 0");
  EXPECT_THAT(refusal<UnknownDevice>([&] { device_in(far.devices()[1]); }), HasSubstr("task:1/device:GPU:3 unknown device"));
}

TEST_F(MeshTest, OfManyProcessesSaysHowToStartThem) {
  EXPECT_THAT(refusal<InvalidArgument>([] {
                create_distributed_mesh({{"x", 4}}, {"GPU:0", "GPU:1"});
              }),
              HasSubstr("which is 4. This process is alone: start it with `tutti launch -n 2 -- ./program`"));
  EXPECT_THAT(refusal<InvalidArgument>([] {
                create_distributed_mesh({{"x", 3}}, {"GPU:0", "GPU:1"});
              }),
              testing::EndsWith("which is 3"));
}

TEST_F(MeshTest, RefusesUnknownDevicesAtTheCall) {
  EXPECT_THAT(refusal<UnknownDevice>([] { create_mesh({{"x", 2}}, {"GPU:0", "GPU:6"}); }), StartsWith("'GPU:6' unknown device"));
  EXPECT_THAT(refusal<UnknownDevice>([] {
                create_mesh({{"x", -1}}, {}, {.device_type = "TPU"});
              }),
              StartsWith("create_mesh: there is no device of type 'TPU'; there are: /job:localhost"));
  EXPECT_THROW(create_mesh({{"x", 1}}, {"GPU:O"}), InvalidDeviceName);
}

TEST_F(MeshTest, RefusesNumbersThatDoNotGoTogether) {
  EXPECT_EQ(refusal<InvalidArgument>([] {
              create_mesh({{"x", 2}, {"y", 2}}, {"GPU:0", "GPU:1", "GPU:2"});
            }),
            "create_mesh: length of devices (3) must be equal to total size of the mesh of shape (2, 2), which is 4");
  EXPECT_EQ(refusal<InvalidArgument>([] {
              create_mesh({{"x", 2}, {"x", 3}});
            }),
            "create_mesh: the mesh has two dimensions called 'x'");
  EXPECT_EQ(refusal<InvalidArgument>([] {
              create_mesh({{"x", 0}, {"y", 6}});
            }),
            "create_mesh: mesh dimension 'x' has size 0; it must be at least 1");
  EXPECT_EQ(refusal<InvalidArgument>([] {
              create_mesh({{"x", 2}}, {"GPU:0", "GPU:0"});
            }),
            "create_mesh: GPU:0 of client 0 is in the mesh twice");
  EXPECT_EQ(refusal<InvalidArgument>([] {
              create_mesh({{"x", 2}}, {"GPU:0", "CPU:0"});
            }),
            "create_mesh: all devices of a mesh must be of one type; there are GPU:0 and CPU:0");
  EXPECT_EQ(refusal<InvalidArgument>([] {
              create_mesh({{"x", 1}}, {"GPU:0"}, {.device_type = "CPU"});
            }),
            "create_mesh: Conflicting devices GPU:0 and device_type CPU");
  EXPECT_THAT(refusal<InvalidArgument>([] { create_mesh({{"a|b", 6}}); }), HasSubstr("'a|b' cannot name a mesh dimension"));
  EXPECT_THAT(refusal<InvalidArgument>([] { create_mesh({{"unsharded", 6}}); }), HasSubstr("means something in a layout"));
  EXPECT_THAT(refusal<InvalidArgument>([] {
                create_mesh({{"x", 6}}, {}, {.name = "a b"});
              }),
              HasSubstr("'a b' cannot name a mesh"));
  EXPECT_THROW(create_mesh({{"x", INT64_MAX}, {"y", INT64_MAX}}), InvalidArgument);
  EXPECT_THROW(create_mesh(std::vector<MeshDim>(9, MeshDim{"x", 1}), {"GPU:0"}), InvalidArgument);
}

TEST_F(MeshTest, NamesItsDimensionsWhereOneIsUnknown) {
  EXPECT_EQ(refusal<InvalidArgument>([&] { static_cast<void>(mesh_.dim_size("z")); }),
            "'z' is no dimension of the mesh; it has: x, y");
  EXPECT_EQ(refusal<InvalidArgument>([&] { static_cast<void>(mesh_.coordinates(6)); }),
            "the mesh has 6 devices; there is none at position 6");
  EXPECT_EQ(refusal<InvalidArgument>([&] {
              static_cast<void>(mesh_.position({0, 3}));
            }),
            "mesh dimension 'y' has size 3; there is nothing at 3");
  EXPECT_THAT(refusal<InvalidArgument>([] { static_cast<void>(Mesh().size()); }),
              StartsWith("a mesh that was never made was used"));
}

TEST_F(MeshTest, HasSubMeshes) {
  const Mesh row = mesh_.sub_mesh({{"x", 1}});
  EXPECT_EQ(row.to_string(), "grid|y=3|/device:GPU:3,/device:GPU:4,/device:GPU:5");
  EXPECT_EQ(mesh_.sub_mesh({{"y", 2}, {"x", 0}}).to_string(), "grid||/device:GPU:2");
  EXPECT_EQ(mesh_.sub_mesh({}), mesh_);
  const std::vector<Mesh> columns = mesh_.sub_meshes({"x"});
  ASSERT_EQ(columns.size(), 3U);
  EXPECT_EQ(columns[1].to_string(), "grid|x=2|/device:GPU:1,/device:GPU:4");
  EXPECT_EQ(mesh_.sub_meshes({"x", "y"}).size(), 1U);
  EXPECT_EQ(refusal<InvalidArgument>([&] {
              static_cast<void>(mesh_.sub_mesh({{"y", 3}}));
            }),
            "sub_mesh: mesh dimension 'y' has size 3; there is nothing at 3");
  EXPECT_THROW(static_cast<void>(mesh_.sub_mesh({{"z", 0}})), InvalidArgument);
}

TEST_F(MeshTest, IsEqualByDimensionsAndDevices) {
  EXPECT_EQ(mesh_, create_mesh({{"x", 2}, {"y", 3}}));
  EXPECT_FALSE(mesh_ == create_mesh({{"x", 3}, {"y", 2}}));
  EXPECT_FALSE(mesh_ == create_mesh({{"a", 2}, {"y", 3}}));
  EXPECT_FALSE(mesh_ == create_mesh({{"x", 2}, {"y", 3}}, {"GPU:1", "GPU:0", "GPU:2", "GPU:3", "GPU:4", "GPU:5"}));
  EXPECT_EQ(Mesh(), Mesh());
}

TEST_F(MeshTest, GivesEachClientTheNextBlockOfDevices) {
  const Mesh second = create_distributed_mesh({{"x", 3}, {"y", 2}}, {"GPU:0", "GPU:1"}, {.rank = 1, .world = 3}, {.name = "job"});
  EXPECT_EQ(second.to_string(),
            "job|x=3,y=2|/task:0/device:GPU:0,/task:0/device:GPU:1,/task:1/device:GPU:0,/task:1/device:GPU:1,"
            "/task:2/device:GPU:0,/task:2/device:GPU:1");
  EXPECT_THAT(second.local_positions(), ElementsAre(2, 3));
  EXPECT_THAT(second.clients(), ElementsAre(0, 1, 2));
  EXPECT_EQ(second.client().rank, 1);
  EXPECT_FALSE(second.is_local());
  EXPECT_THAT(second.sub_mesh({{"x", 1}}).clients(), ElementsAre(1));
  EXPECT_TRUE(second.sub_mesh({{"x", 0}}).local_positions().empty());
  const Mesh first = create_distributed_mesh({{"x", 3}, {"y", 2}}, {"GPU:0", "GPU:1"}, {.rank = 0, .world = 3}, {.name = "job"});
  EXPECT_EQ(first.to_string(), second.to_string());
  EXPECT_EQ(
      refusal<InvalidArgument>([] {
        create_distributed_mesh({{"x", 5}}, {"GPU:0", "GPU:1"}, {.rank = 0, .world = 3});
      }),
      "create_distributed_mesh: Global number of devices (2 per client * 3 clients = 6) must be equal to total size of the mesh "
      "of shape (5,), which is 5");
  EXPECT_EQ(refusal<InvalidArgument>([] {
              create_distributed_mesh({{"x", 3}}, {"GPU:0"}, {.rank = 3, .world = 3});
            }),
            "create_distributed_mesh: this process cannot be number 3 of 3; numbers begin at 0");
  EXPECT_THROW(create_distributed_mesh({{"x", -1}}, {"GPU:0"}, {.rank = 0, .world = 2'000'000'000}), InvalidArgument);
  EXPECT_THROW(create_distributed_mesh({{"x", -1}}, {"GPU:0"}, {.rank = 0, .world = 0}), InvalidArgument);
}

TEST_F(MeshTest, IsReadBackFromItsText) {
  EXPECT_EQ(parse_mesh(mesh_.to_string()).to_string(), mesh_.to_string());
  EXPECT_EQ(parse_mesh("|x=2|gpu:0,/GPU:1").to_string(), "|x=2|/device:GPU:0,/device:GPU:1");
  const MeshClients third{.rank = 2, .world = 3};
  const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0", "GPU:1"}, third);
  EXPECT_EQ(parse_mesh(mesh.to_string(), third), mesh);
  EXPECT_EQ(refusal<InvalidArgument>([&] { parse_mesh(mesh.to_string()); }),
            "parse_mesh: GPU:0 belongs to client 1, but there are 1 clients only");
}

TEST_F(MeshTest, SaysWhereATextIsWrong) {
  const auto fault = [](const char* text) { return refusal<InvalidArgument>([&] { parse_mesh(text); }); };
  EXPECT_EQ(fault(""), "'': the mesh's name or '|' expected at position 0");
  EXPECT_EQ(fault("grid"), "'grid': '|' expected at position 4");
  EXPECT_EQ(fault("grid|x2|GPU:0"), "'grid|x2|GPU:0': '=' expected at position 7");
  EXPECT_EQ(fault("|x=|GPU:0"), "'|x=|GPU:0': a size of at least 1 expected at position 3");
  EXPECT_EQ(fault("|x=99999999999999999999|GPU:0"),
            "'|x=99999999999999999999|GPU:0': a size of at least 1 expected at position 3");
  EXPECT_EQ(fault("|x=1|GPU"), "'|x=1|GPU': a device such as '/device:GPU:0' or '/task:1/device:GPU:0' expected at position 5");
  EXPECT_THAT(fault("|x=1|GPU:0,"), HasSubstr("expected at position 11"));
  EXPECT_EQ(fault("|x=2|GPU:0"),
            "parse_mesh: length of devices (1) must be equal to total size of the mesh of shape (2,), which is 2");
  EXPECT_THAT(fault("|x=1|GPU:77"), HasSubstr("unknown device"));
  EXPECT_THROW(parse_mesh(std::string(5'000'000, 'a')), InvalidArgument);
}

}  // namespace
}  // namespace tutti::meshes

// What goes between the devices of a mesh is ordered by the runtime, also where the program orders its streams itself.
#include "mesh/meshes.h"

namespace tutti::meshes {
namespace {

class UnderManualOrder : public OnDevices {};
TUTTI_ON_ALL_DEVICES(UnderManualOrder);

TEST_P(UnderManualOrder, CopiesBetweenDevicesAreOrderedAllTheSame) {
  const Mesh mesh = mesh_of({2, 2});
  const Tensor a = whole_numbers({128, 64}, 1);
  const Tensor b = whole_numbers({64, 128}, 2);
  sync_devices();
  ShardedTensor c;
  Tensor whole;
  {
    const ManualOrder manual;
    c = matmul(shard(a, Layout({"x", "y"}, mesh)), shard(b, Layout({"y", unsharded}, mesh)));
    c = relayout(c, Layout({unsharded, "x"}, mesh));
    c = all_reduce(c, "y", Reduction::max) * 2;
    whole = to_tensor(c, "CPU:0");
    EXPECT_TRUE(c.is_defined());
  }
  sync_devices();
  expect_sharded(c, Layout({unsharded, "x"}, mesh), matmul(a, b) * 2, "the product");
  expect_same(whole, matmul(a, b) * 2, "the product on the CPU");
}

}  // namespace
}  // namespace tutti::meshes

// Nothing on a mesh makes the host wait but reading a value.
#include "mesh/meshes.h"
#include "tutti/diag/sync_matcher.h"

namespace tutti::meshes {
namespace {

class WithoutSyncs : public OnDevices {};
TUTTI_ON_ALL_DEVICES(WithoutSyncs);

TEST_P(WithoutSyncs, AStepOverAMeshIsEnqueuedWhole) {
  const Mesh mesh = mesh_of({2, 2});
  const Tensor plain_a = whole_numbers({128, 64}, 1);
  const Tensor plain_b = whole_numbers({64, 128}, 2);
  Tensor found;
  const SyncCounts before = sync_counts();
  {
    const SyncScope strict(OnSync::error);
    const ShardedTensor a = shard(plain_a, Layout({"x", "y"}, mesh));
    const ShardedTensor b = shard(plain_b, Layout({"y", unsharded}, mesh));
    ShardedTensor c = matmul(a, b);                                   // an all_reduce along y, shared out
    c = relayout(c, Layout({unsharded, "x"}, mesh));                  // an all_to_all
    c = c + uniform({128, 128}, Layout({unsharded, "x"}, mesh)) * 0;  // made where it lies
    c = pack(unpack(c), c.layout());
    const ShardedTensor total = max(c, {0}, {.keepdims = true});
    static_cast<void>(all_reduce(total, "y", Reduction::mean));
    static_cast<void>(broadcast(total, "y", 0));
    static_cast<void>(reduce_scatter(c, "y", 0, Reduction::sum));
    found = to_tensor(relayout(c, Layout::replicated(mesh, 2)));
    static_cast<void>(c.is_ready());
  }
  EXPECT_EQ(sync_counts().demand, before.demand);
  expect_same(found, matmul(plain_a, plain_b), "the product");
}

TEST_P(WithoutSyncs, ReadingATensorIsOneSync) {
  const ShardedTensor x = arange(0, 8, Layout::batch_sharded(mesh_of({4}), "x", 1));
  EXPECT_THAT([&] { read<std::int64_t>(x); }, makes_demand_syncs(1));
}

}  // namespace
}  // namespace tutti::meshes

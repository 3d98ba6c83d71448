// Collectives against what one device makes of the same tensors, in the same order.
#include "mesh/meshes.h"

namespace tutti::meshes {
namespace {

using testing::HasSubstr;

class Collectives : public OnDevices {
 protected:
  // A tensor for each device of the mesh, on it, and all of them where ops go by themselves.
  struct Contributions {
    std::vector<Tensor> local;
    std::vector<Tensor> here;
  };
  static Contributions contributions(const Mesh& mesh, const Shape& shape, DType dtype, bool is_whole) {
    Contributions out;
    for (std::size_t i = 0; i < mesh.size(); ++i) {
      const std::uint64_t key = 100 + i;
      const Tensor x = is_whole ? whole_numbers(shape, key, dtype) : uniform(shape, {.key = key, .low = -1, .dtype = dtype});
      out.here.push_back(x);
      out.local.push_back(copy_to(x, mesh.local_devices()[i]->name()));
    }
    return out;
  }
  // The devices that differ from this one in that dimension only.
  static std::vector<std::size_t> group_of(const Mesh& mesh, std::size_t position, std::size_t dim) {
    std::vector<std::size_t> out;
    Dims at = mesh.coordinates(position);
    for (at[dim] = 0; at[dim] < mesh.sizes()[dim]; ++at[dim]) out.push_back(mesh.position(at));
    return out;
  }
  static std::vector<Tensor> chosen(const std::vector<Tensor>& all, const std::vector<std::size_t>& which) {
    std::vector<Tensor> out;
    for (const std::size_t i : which) out.push_back(all[i]);
    return out;
  }
};
TUTTI_ON_ALL_DEVICES(Collectives);

// One after the other, in order.
Tensor reduced(const std::vector<Tensor>& parts, Reduction reduction) {
  const bool is_bool = parts[0].dtype() == DType::boolean;
  Tensor out = parts[0];
  const bool is_half = out.dtype() == DType::f16 || out.dtype() == DType::bf16;
  const DType dtype = out.dtype();
  if (is_half && (reduction == Reduction::sum || reduction == Reduction::mean)) out = cast(out, DType::f32);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    switch (reduction) {
      case Reduction::sum:
      case Reduction::mean: out = add(out, cast(parts[i], out.dtype())); break;
      case Reduction::prod: out = multiply(out, parts[i]); break;
      case Reduction::min: out = is_bool ? logical_and(out, parts[i]) : minimum(out, parts[i]); break;
      case Reduction::max: out = is_bool ? logical_or(out, parts[i]) : maximum(out, parts[i]); break;
    }
  }
  if (reduction == Reduction::mean && parts.size() > 1) out = divide(out, static_cast<double>(parts.size()));
  return cast(out, dtype);
}

TEST_P(Collectives, AllReduceHasTheSameBitsOnEveryDevice) {
  for (const MeshSizes& sizes : mesh_sizes()) {
    const Mesh mesh = mesh_of(sizes);
    for (const Shape& shape : {Shape{5}, Shape{1}, Shape{0}, Shape{}, Shape{93, 101}}) {  // the last is shared out
      const Contributions given = contributions(mesh, shape, DType::f32, false);
      for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
        const auto found = all_reduce(given.local, mesh, mesh.dims()[dim].name, Reduction::sum);
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_EQ(found[i].device(), mesh.local_devices()[i]->name());
          expect_same(found[i], reduced(chosen(given.here, group_of(mesh, i, dim)), Reduction::sum), mesh.to_string());
        }
      }
    }
  }
}

TEST_P(Collectives, AllReduceTakesEveryDtypeAndReduction) {
  const Mesh mesh = mesh_of({4});
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    for (const Shape& shape : {Shape{7}, Shape{40'001}}) {
      const Contributions given = contributions(mesh, shape, dtype, true);
      for (const Reduction reduction : {Reduction::sum, Reduction::mean, Reduction::min, Reduction::max, Reduction::prod}) {
        if (reduction == Reduction::mean && !is_floating(dtype)) {
          EXPECT_THAT(refusal<DTypeError>([&] { all_reduce(given.local, mesh, "x", reduction); }),
                      HasSubstr("a mean is of floating dtypes, not"));
          continue;
        }
        const auto found = all_reduce(given.local, mesh, "x", reduction);
        for (const Tensor& each : found)
          expect_same(each, reduced(given.here, reduction),
                      std::string(to_string(dtype)) + std::to_string(static_cast<int>(reduction)));
      }
    }
  }
}

TEST_P(Collectives, AllReduceGoesAlongSeveralDimensionsAtOnce) {
  const Mesh mesh = mesh_of({2, 3});
  const Contributions given = contributions(mesh, {9}, DType::f32, false);
  for (const Tensor& each : all_reduce(given.local, mesh, {"x", "y"}, Reduction::sum))
    expect_same(each, reduced(given.here, Reduction::sum), "all six");
}

TEST_P(Collectives, OthersMoveWhatTheySay) {
  for (const MeshSizes& sizes : mesh_sizes()) {
    const Mesh mesh = mesh_of(sizes);
    const Contributions given = contributions(mesh, {24, 24}, DType::f32, false);
    for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
      const std::string& name = mesh.dims()[dim].name;
      const auto gathered = all_gather(given.local, mesh, name, 1);
      const auto scattered = reduce_scatter(given.local, mesh, name, -1, Reduction::max);
      const auto exchanged = all_to_all(given.local, mesh, name, 0, 1);
      const auto sent = broadcast(given.local, mesh, name, sizes[dim] - 1);
      for (std::size_t i = 0; i < mesh.size(); ++i) {
        const std::vector<Tensor> group = chosen(given.here, group_of(mesh, i, dim));
        const std::int64_t at = mesh.coordinates(i)[dim];
        const std::int64_t part = 24 / sizes[dim];
        expect_same(gathered[i], concat(group, 1), "all_gather");
        expect_same(scattered[i], slice(reduced(group, Reduction::max), 1, {at * part, (at + 1) * part}), "reduce_scatter");
        std::vector<Tensor> parts;
        for (const Tensor& each : group) parts.push_back(slice(each, 0, {at * part, (at + 1) * part}));
        expect_same(exchanged[i], concat(parts, 1), "all_to_all");
        expect_same(sent[i], group.back(), "broadcast");
        for (const auto* all : {&gathered, &scattered, &exchanged, &sent})
          EXPECT_EQ((*all)[i].device(), mesh.local_devices()[i]->name());
      }
    }
  }
}

TEST_P(Collectives, OfShardedTensorsGiveTheLayoutThatFollows) {
  const Mesh mesh = mesh_of({2, 2});
  const Tensor x = whole_numbers({4, 8}, 1);
  const Layout by_rows({"x", unsharded}, mesh);
  const ShardedTensor rows = shard(x, by_rows);
  const Layout whole = Layout::replicated(mesh, 2);
  expect_sharded(all_gather(rows, "x"), whole, x, "all_gather");
  expect_sharded(all_to_all(rows, "x", 1), Layout({unsharded, "x"}, mesh), x, "all_to_all");
  expect_sharded(all_to_all(rows, "x", 0), by_rows, x, "all_to_all that stays");
  expect_sharded(all_reduce(rows, "x", Reduction::sum), whole, slice(x, 0, {0, 2}) + slice(x, 0, {2, 4}), "all_reduce");
  expect_sharded(all_reduce(rows, "y", Reduction::sum), by_rows, x * 2, "all_reduce of what is the same");
  expect_sharded(broadcast(rows, "x", 1), whole, slice(x, 0, {2, 4}), "broadcast");
  expect_sharded(reduce_scatter(rows, "y", 1, Reduction::sum), Layout({"x", "y"}, mesh), x * 2, "reduce_scatter");
}

TEST_P(Collectives, SayWhatIsWrong) {
  const Mesh mesh = mesh_of({2, 2});
  const std::vector<Tensor> four(4, zeros({3}));
  EXPECT_EQ(refusal<InvalidArgument>([&] { all_reduce({zeros({3})}, mesh, "x", Reduction::sum); }),
            "all_reduce: 1 tensors were given for the 4 devices that this process has in the mesh; give one for each");
  EXPECT_EQ(refusal<InvalidArgument>([&] { all_reduce(four, mesh, "z", Reduction::sum); }),
            "'z' is no dimension of the mesh; it has: x, y");
  EXPECT_EQ(refusal<InvalidArgument>([&] {
              all_reduce(four, mesh, {"x", "x"}, Reduction::sum);
            }),
            "all_reduce: mesh dimension 'x' is given twice");
  EXPECT_EQ(refusal<ShapeError>([&] { reduce_scatter(four, mesh, "x", 0, Reduction::sum); }),
            "reduce_scatter: axis 0 of shape (3,) has 3 elements, which must be evenly divisible by the 2 devices of the mesh "
            "dimension");
  EXPECT_EQ(refusal<InvalidArgument>([&] { broadcast(four, mesh, "x", 2); }),
            "broadcast: mesh dimension 'x' has size 2; there is no root 2");
  std::vector<Tensor> odd = four;
  odd[2] = zeros({3}, DType::i32);
  EXPECT_EQ(refusal<ShapeError>([&] { all_reduce(odd, mesh, "x", Reduction::sum); }),
            "all_reduce: the members of a group must bring one shape and dtype; /job:localhost/replica:0/task:0/device:" +
                GetParam().type + ":0 brings float32(3,), /job:localhost/replica:0/task:0/device:" + GetParam().type +
                ":2 brings int32(3,)");
  EXPECT_EQ(refusal<ShapeError>([&] { all_gather(four, mesh, "x", 1); }),
            "all_gather: axis 1 does not exist in a tensor with 1 axes; use -1 to 0");
  EXPECT_EQ(refusal<ShapeError>([&] { reduce_scatter(four, mesh, "x", 1, Reduction::sum); }),
            "reduce_scatter: axis 1 does not exist in a tensor with 1 axes; use -1 to 0");
  const ShardedTensor rows = zeros({4, 4}, Layout({"x", unsharded}, mesh));
  EXPECT_EQ(refusal<InvalidArgument>([&] { all_gather(rows, "y"); }),
            "all_gather: mesh dimension 'y' shards no axis of the layout (x, unsharded)");
  EXPECT_EQ(refusal<InvalidArgument>([&] { reduce_scatter(rows, "y", 0, Reduction::sum); }),
            "reduce_scatter: axis 0 of the layout (x, unsharded) is sharded over 'x' already");
  EXPECT_EQ(
      refusal<InvalidArgument>([&] { reduce_scatter(rows, "x", 1, Reduction::sum); }),
      "reduce_scatter: mesh dimension 'x' shards axis 0 of the layout (x, unsharded); relayout it first, or use all_to_all");
}

TEST_P(Collectives, NeedTheOtherProcessesOnlyAlongTheirDimension) {
  const std::vector<std::string> here{GetParam().type + ":0", GetParam().type + ":1"};
  const Mesh mesh = create_distributed_mesh({{"x", 2}, {"y", 2}}, here, {.rank = 1, .world = 2});
  const std::vector<Tensor> two{ones({3}), ones({3})};
  for (const Tensor& each : all_reduce(two, mesh, "y", Reduction::sum)) expect_same(each, full({3}, 2, DType::f32), "along y");
  EXPECT_THAT(refusal<InvalidState>([&] { all_reduce(two, mesh, "x", Reduction::sum); }),
              HasSubstr("needs 2 processes and this one is alone: start it with `tutti launch -n 2 -- ./program`"));
}

TEST_P(Collectives, CarryAFailureToEveryDeviceThatNeedsIt) {
  const Mesh mesh = mesh_of({2, 2});
  for (const Shape& shape : {Shape{4}, Shape{40'000}}) {
    std::vector<Tensor> four;
    for (std::size_t i = 0; i < 4; ++i) {
      const DeviceScope on(mesh.local_devices()[i]->name());
      four.push_back(floor_divide(ones(shape, DType::i32), full(shape, i == 3 ? 0 : 1, DType::i32)));  // fails on device 3
    }
    const auto found = all_reduce(four, mesh, "x", Reduction::sum);  // groups: 0 and 2, 1 and 3
    for (const std::size_t i : {0U, 2U}) expect_same(found[i], full(shape, 2, DType::i32), "the other group");
    for (const std::size_t i : {1U, 3U}) {
      EXPECT_THAT(refusal<KernelFailed>([&] { read<std::int32_t>(found[i]); }), HasSubstr("op floor_divide on")) << i;
    }
  }
}

}  // namespace
}  // namespace tutti::meshes

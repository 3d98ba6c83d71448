#include "mesh/meshes.h"
#include <tutti/tensor/dtype_visit.h>

namespace tutti::meshes {

namespace {

constexpr unsigned devices = 8;

void eight_cpus() {
  simulate_gpus(0);
  set_logical_device_configuration(list_physical_devices("CPU").at(0), std::vector<LogicalDeviceConfiguration>(devices));
}
void eight_gpus() { simulate_gpus(devices, {.memory_bytes = MiB(64), .workers = 1}); }
void stepped() { simulate_gpus(devices, {.memory_bytes = MiB(64), .driver = SimulationDriver::stepped, .seed = 3}); }
void stepped_and_staged() {
  simulate_gpus(devices, {.memory_bytes = MiB(64), .driver = SimulationDriver::stepped, .seed = 2, .pinned_copies = true});
}

}  // namespace

std::vector<DevicesCase> all_devices() {
  return {
      {"cpu", "CPU", eight_cpus, true},
      {"cpu_asynchronous", "CPU", eight_cpus, false},
      {"sim", "GPU", eight_gpus, false},
      // Odd seeds run some work as it is submitted, even ones nothing before the host waits.
      {"sim_stepped", "GPU", stepped, false},
      {"sim_stepped_and_staged", "GPU", stepped_and_staged, false},
  };
}

std::vector<MeshSizes> mesh_sizes() { return {{1}, {2}, {4}, {8}, {2, 2}, {2, 3}}; }

void OnDevices::SetUp() {
  GetParam().configure();
  set_synchronous_execution(GetParam().is_synchronous);
}

Mesh OnDevices::mesh_of(const MeshSizes& sizes) const {
  const char* const names[] = {"x", "y"};
  std::vector<MeshDim> dims;
  std::int64_t count = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    dims.push_back({names[i], sizes[i]});
    count *= sizes[i];
  }
  std::vector<std::string> chosen;
  for (std::int64_t i = 0; i < count; ++i) chosen.push_back(GetParam().type + ":" + std::to_string(i));
  return create_mesh(dims, chosen);
}

Tensor whole_numbers(const Shape& shape, std::uint64_t key, DType dtype) {
  return cast(randint(shape, -4, 5, {.key = key, .dtype = DType::i32}), dtype);
}

std::vector<Layout> all_layouts(const Mesh& mesh, std::size_t rank) {
  std::vector<Layout> out{Layout::replicated(mesh, rank)};
  for (std::size_t dim = 0; dim < mesh.dims().size(); ++dim) {
    const std::size_t known = out.size();
    for (std::size_t i = 0; i < known; ++i) {
      for (std::size_t axis = 0; axis < rank; ++axis) {
        if (!out[i].dim_of(axis)) out.push_back(out[i].with(axis, dim));
      }
    }
  }
  return out;
}

void expect_same(const Tensor& found, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(to_string(found.shape()), to_string(expected.shape())) << what;
  ASSERT_EQ(to_string(found.dtype()), to_string(expected.dtype())) << what;
  visit_dtype(found.dtype(), [&](auto element) {
    using T = decltype(element);
    const Tensor a = contiguous(copy_to(found, "CPU:0"));
    const Tensor b = contiguous(copy_to(expected, "CPU:0"));
    a.sync();
    b.sync();
    const std::string_view bytes_a(reinterpret_cast<const char*>(a.impl().address()),
                                   static_cast<std::size_t>(a.size()) * sizeof(T));
    const std::string_view bytes_b(reinterpret_cast<const char*>(b.impl().address()),
                                   static_cast<std::size_t>(b.size()) * sizeof(T));
    if (bytes_a != bytes_b) ADD_FAILURE() << what << "\nfound\n" << to_string(found) << "\nexpected\n" << to_string(expected);
  });
}

void expect_sharded(const ShardedTensor& found, const Layout& layout, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(found.layout().to_string(), layout.to_string()) << what;
  ASSERT_EQ(to_string(found.shape()), to_string(expected.shape())) << what;
  const Mesh& mesh = layout.mesh();
  const Shape size = layout.shard_shape(expected.shape());
  ASSERT_EQ(found.shards().size(), mesh.local_devices().size()) << what;
  for (std::size_t i = 0; i < found.shards().size(); ++i) {
    ASSERT_EQ(found.shards()[i].device(), mesh.local_devices()[i]->name()) << what;
    const Dims offset = layout.shard_offset(expected.shape(), mesh.local_positions()[i]);
    Tensor part = expected;
    for (std::size_t axis = 0; axis < size.size(); ++axis)
      part = slice(part, static_cast<std::int64_t>(axis), {offset[axis], offset[axis] + size[axis]});
    expect_same(found.shards()[i], part, what + ", shard " + std::to_string(i));
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace tutti::meshes

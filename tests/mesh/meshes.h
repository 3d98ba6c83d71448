// Eight devices of each kind to build meshes of, and tensors whose sums are exact in any order.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::meshes {

struct DevicesCase {
  std::string name;
  std::string type;
  void (*configure)();
  bool is_synchronous = false;
};
inline std::ostream& operator<<(std::ostream& out, const DevicesCase& devices) { return out << devices.name; }

std::vector<DevicesCase> all_devices();

// The sizes of a mesh's dimensions, which are called x and y.
using MeshSizes = std::vector<std::int64_t>;
std::vector<MeshSizes> mesh_sizes();

// Eight devices: virtual CPUs or simulated GPUs.
class OnDevices : public testing::TestWithParam<DevicesCase> {
 protected:
  void SetUp() override;

  // Over the first devices of the type.
  [[nodiscard]] Mesh mesh_of(const MeshSizes& sizes) const;
};

// Whole numbers from -4 to 4, as that dtype.
Tensor whole_numbers(const Shape& shape, std::uint64_t key, DType dtype = DType::f32);
// Every layout of that many axes.
std::vector<Layout> all_layouts(const Mesh& mesh, std::size_t rank);

// The same values, bit by bit, and the same dtype and shape.
void expect_same(const Tensor& found, const Tensor& expected, const std::string& what);
// Every shard is where and what the layout says, and together they are the tensor.
void expect_sharded(const ShardedTensor& found, const Layout& layout, const Tensor& expected, const std::string& what);

// The message of what `call` throws, which must be an E.
template <class E, class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.message();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

}  // namespace tutti::meshes

#define TUTTI_ON_ALL_DEVICES(Suite)                                                      \
  INSTANTIATE_TEST_SUITE_P(On, Suite, testing::ValuesIn(::tutti::meshes::all_devices()), \
                           [](const auto& each) { return each.param.name; })

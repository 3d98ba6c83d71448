// A tensor spread over a mesh: a layout, and on each device of this process its shard.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/mesh/layout.h"
#include "tutti/ops/flatten.h"
#include "tutti/ops/reading.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

template <>
inline constexpr bool holds_no_tensors<Mesh> = true;
template <>
inline constexpr bool holds_no_tensors<Layout> = true;

// An immutable value, like Tensor: copying one copies pointers.
class ShardedTensor {
 public:
  ShardedTensor() noexcept = default;
  // The shards are on this process's devices, in their order, and have the shape the layout says. See pack for others.
  ShardedTensor(Layout layout, const Shape& global, std::vector<Tensor> shards)
      : layout_(std::move(layout)), shape_(global), shards_(std::move(shards)) {}

  [[nodiscard]] bool is_defined() const noexcept { return !shards_.empty(); }
  [[nodiscard]] const Layout& layout(Site site = {}) const { return checked(site).layout_; }
  [[nodiscard]] const Mesh& mesh(Site site = {}) const { return checked(site).layout_.mesh(); }
  // Of the whole tensor.
  [[nodiscard]] const Shape& shape(Site site = {}) const { return checked(site).shape_; }
  [[nodiscard]] std::size_t rank(Site site = {}) const { return shape(site).size(); }
  [[nodiscard]] DType dtype(Site site = {}) const { return checked(site).shards_.front().dtype(); }
  // One for each of mesh().local_devices().
  [[nodiscard]] const std::vector<Tensor>& shards(Site site = {}) const { return checked(site).shards_; }
  // Asks, never blocks.
  [[nodiscard]] bool is_ready(Site site = {}) const;

  // For flatten.h: the layout as text, which tells graphs apart, and the shards.
  template <class Visit>
  void each_member(Visit&& visit) {
    visit_members(*this, visit);
  }
  template <class Visit>
  void each_member(Visit&& visit) const {
    visit_members(*this, visit);
  }

 private:
  template <class Self, class Visit>
  static void visit_members(Self& self, Visit& visit) {
    const std::string layout = self.is_defined() ? self.layout_.to_string() : std::string();
    visit("layout", layout);
    visit("shards", self.shards_);
  }
  [[nodiscard]] const ShardedTensor& checked(Site site) const;

  Layout layout_;
  Shape shape_;
  std::vector<Tensor> shards_;
};

// One tensor for each device of this process, all of one shape and dtype, taken as the shards of a layout. Those that are
// elsewhere are copied. That shards which the layout calls the same are the same is for the caller to know.
ShardedTensor pack(std::span<const Tensor> shards, const Layout& layout, Site site = {});
inline ShardedTensor pack(const std::vector<Tensor>& shards, const Layout& layout, Site site = {}) {
  return pack(std::span(shards), layout, site);
}
// The shards of this process's devices.
std::vector<Tensor> unpack(const ShardedTensor& x, Site site = {});

// A tensor cut up, each part sent to its devices. Every process has the same tensor.
ShardedTensor shard(const Tensor& x, const Layout& layout, Site site = {});

// All of it on one device, without a host sync; without a name: on this process's first device of the mesh.
Tensor to_tensor(const ShardedTensor& x, std::string_view device = {}, Site site = {});

// All elements in row-major order: one demand sync.
template <Element T>
std::vector<T> read(const ShardedTensor& x, Intent intent, Site site = {}) {
  return read<T>(to_tensor(x, "CPU:0", site), intent, site);
}
template <Element T>
std::vector<T> read(const ShardedTensor& x, Site site = {}) {
  return read<T>(x, Intent::unstated, site);
}

// A sharded tensor on its way to a stream of text; remembers the line that prints it.
struct PrintedShardedTensor {
  const ShardedTensor& tensor;
  Site site;
  PrintedShardedTensor(const ShardedTensor& x, Site where = {}) : tensor(x), site(where) {}
};
// tutti.Tensor([...], shape=(2, 2), dtype=float32) in the layout (x, unsharded); blocks for the value.
std::ostream& operator<<(std::ostream& out, PrintedShardedTensor x);

}  // namespace tutti

#include "tutti/mesh/sharded_tensor.h"

#include <algorithm>
#include <ostream>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/local_devices.h"
#include "tutti/mesh/relayout.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/views.h"
#include "tutti/place/placement.h"

namespace tutti {

namespace {

// Puts the parts of a tensor together on one device, axis by axis.
class Gathering {
 public:
  Gathering(const ShardedTensor& x, LogicalDevice& to, Site site) : x_(x), to_(to), site_(site) {}

  Tensor run() {
    Dims at = x_.mesh().sizes();
    for (std::size_t dim = 0; dim < at.size(); ++dim) at[dim] = any;
    return gathered(0, at);
  }

 private:
  static constexpr std::int64_t any = -1;

  Tensor gathered(std::size_t axis, Dims at) {
    if (axis == x_.rank()) return detail::on_device(shard_at(at), to_, site_);
    const std::optional<std::size_t> dim = x_.layout().dim_of(axis);
    if (!dim) return gathered(axis + 1, at);
    std::vector<Tensor> parts;
    for (at[*dim] = 0; at[*dim] < x_.mesh().sizes()[*dim]; ++at[*dim]) parts.push_back(gathered(axis + 1, at));
    return parts.size() == 1 ? parts.front() : concat(parts, static_cast<std::int64_t>(axis), site_);
  }

  // Of several that are the same, the one on the device asked for.
  const Tensor& shard_at(const Dims& at) {
    const auto positions = x_.mesh().local_positions();
    const Tensor* found = nullptr;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const Dims here = x_.mesh().coordinates(positions[i]);
      bool fits = true;
      for (std::size_t dim = 0; dim < at.size(); ++dim) fits = fits && (at[dim] == any || at[dim] == here[dim]);
      if (fits && (found == nullptr || detail::is_on(x_.shards()[i], to_))) found = &x_.shards()[i];
    }
    return *found;  // all shards are here
  }

  const ShardedTensor& x_;
  LogicalDevice& to_;
  Site site_;
};

}  // namespace

void detail::require_local_devices(const Mesh& mesh, const char* function, Site site) {
  if (!mesh.local_positions(site).empty()) return;
  throw InvalidArgument(text(function, ": this process, client ", mesh.client().rank, ", has no device of the mesh"), site);
}

const ShardedTensor& ShardedTensor::checked(Site site) const {
  if (is_defined()) [[likely]]
    return *this;
  throw InvalidArgument("a sharded tensor that was never given a value was used; assign the result of a function to it first",
                        site);
}

bool ShardedTensor::is_ready(Site site) const {
  const auto& all = shards(site);
  return std::all_of(all.begin(), all.end(), [](const Tensor& shard) { return shard.is_ready(); });
}

ShardedTensor pack(std::span<const Tensor> shards, const Layout& layout, Site site) {
  const auto devices = layout.mesh().local_devices(site);
  detail::require_local_devices(layout.mesh(), "pack", site);
  if (shards.size() != devices.size()) {
    throw InvalidArgument(text("pack: ", shards.size(), " tensors were given for the ", devices.size(),
                               " devices that this process has in the mesh; give one for each"),
                          site);
  }
  const detail::DerivedOrder ordered;
  const Tensor& first = shards.front();
  const Shape global = layout.global_shape(first.shape(site), site);
  std::vector<Tensor> placed;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const Tensor& each = shards[i];
    if (!(each.shape(site) == first.shape()) || each.dtype() != first.dtype()) {
      throw ShapeError(text("pack: all shards must have one shape and dtype; shard 0 is ", to_string(first.dtype()),
                            to_string(first.shape()), ", shard ", i, " is ", to_string(each.dtype()), to_string(each.shape())),
                       site);
    }
    placed.push_back(copied(each, *devices[i], {.for_op = "pack", .input = static_cast<std::int64_t>(i)}, site));
  }
  return {layout, global, std::move(placed)};
}

std::vector<Tensor> unpack(const ShardedTensor& x, Site site) { return x.shards(site); }

ShardedTensor shard(const Tensor& x, const Layout& layout, Site site) {
  detail::require_local_devices(layout.mesh(), "shard", site);
  const Shape size = layout.shard_shape(x.shape(site), site);
  const detail::DerivedOrder ordered;
  const auto devices = layout.mesh().local_devices();
  const auto positions = layout.mesh().local_positions();
  std::vector<Tensor> shards;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Dims offset = layout.shard_offset(x.shape(), positions[i], site);
    Tensor part = x;
    for (std::size_t axis = 0; axis < size.size(); ++axis) {
      if (size[axis] != x.shape()[axis])
        part = slice(part, static_cast<std::int64_t>(axis), {offset[axis], offset[axis] + size[axis]}, site);
    }
    // A part is memory of its own: a view would keep the whole tensor alive.
    shards.push_back(copied(part, *devices[i], {.if_elsewhere = layout.is_fully_replicated()}, site));
  }
  return {layout, x.shape(), std::move(shards)};
}

Tensor to_tensor(const ShardedTensor& x, std::string_view device, Site site) {
  LogicalDevice& to = device.empty() ? *x.mesh(site).local_devices().front() : find_device(device, site);
  const detail::DerivedOrder ordered;
  // Every process gets all of it: each must call this.
  if (!x.mesh().is_local())
    return detail::on_device(relayout(x, Layout::replicated(x.mesh(), x.rank()), site).shards().front(), to, site);
  return detail::made_on(to, site, [&] { return Gathering(x, to, site).run(); });
}

std::ostream& operator<<(std::ostream& out, PrintedShardedTensor x) {
  if (!x.tensor.is_defined()) return out << "tutti.ShardedTensor(undefined)";
  const Tensor whole = to_tensor(x.tensor, "CPU:0", x.site);
  return out << PrintedTensor(whole, x.site) << " in the layout " << x.tensor.layout().specs_text();
}

}  // namespace tutti

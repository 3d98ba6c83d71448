#include "tutti/mesh/remote_collectives.h"

#include <algorithm>

#include "tutti/base/text.h"
#include "tutti/mesh/local_devices.h"
#include "tutti/mesh/reductions.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/manipulation.h"
#include "tutti/place/scope.h"

namespace tutti::detail {

namespace {

bool is_half(DType dtype) noexcept { return dtype == DType::f16 || dtype == DType::bf16; }

// What the processes do with their parts. A mean is a sum at first; of bools, a sum is "or" and a product "and".
Reduction between_processes(Reduction reduction, DType dtype) noexcept {
  if (reduction == Reduction::mean) return Reduction::sum;
  if (dtype == DType::boolean && reduction == Reduction::sum) return Reduction::max;
  if (dtype == DType::boolean && reduction == Reduction::prod) return Reduction::min;
  return reduction;
}

// One in front; of one tensor a view, which wakes no other thread.
Tensor stacked(const std::vector<Tensor>& parts, Site site) {
  if (parts.size() > 1) return stack(parts, 0, site);
  Shape shape{1};
  for (const std::int64_t extent : parts.front().shape()) shape.push_back(extent);
  return reshape(parts.front(), shape, site);
}

}  // namespace

RemoteGroup::RemoteGroup(const Mesh& mesh, const Group& group, std::span<const Tensor> held, Site site)
    : group_(group),
      held_(held),
      site_(site),
      processes_(process_group(group.clients, site)),
      by_client_(group.clients.size()),
      home_(&runtime(site).cpu()) {
  std::string devices;
  bool are_gpus = true;
  for (std::size_t k = 0; k < group.size(); ++k) {
    const int client = mesh.devices()[group.positions[k]].client;
    const auto at =
        static_cast<std::size_t>(std::find(group.clients.begin(), group.clients.end(), client) - group.clients.begin());
    seats_.push_back({at, by_client_[at].size()});
    by_client_[at].push_back(k);
    slots_ = std::max(slots_, by_client_[at].size());
    devices += text(k == 0 ? "" : ", ", to_string(mesh.devices()[group.positions[k]]));
    are_gpus = are_gpus && mesh.devices()[group.positions[k]].type == "GPU";
  }
  if (!are_gpus || slots_ > 1) return;
  LogicalDevice& own = *mesh.local_devices(site)[group.local.front()];
  line_ = &processes_.line(devices, own.device());
  if (line_->stays_on_gpu()) home_ = &own;
}

Tensor RemoteGroup::at_home(std::size_t local) const { return on_device(held_[group_.local[local]], *home_, site_); }

Tensor RemoteGroup::part(const Tensor& x, std::size_t axis, std::size_t k) const {
  const std::int64_t length = x.shape()[axis] / static_cast<std::int64_t>(group_.size());
  const auto begin = static_cast<std::int64_t>(k) * length;
  return slice(x, static_cast<std::int64_t>(axis), {begin, begin + length}, site_);
}

template <class Make>
Tensor RemoteGroup::seated(Make&& make) const {
  std::vector<Tensor> rows;
  for (std::size_t client = 0; client < by_client_.size(); ++client) {
    std::vector<Tensor> row;
    // A seat that nobody has goes along empty, so that all processes exchange the same sizes.
    for (std::size_t slot = 0; slot < slots_; ++slot) row.push_back(make(client, std::min(slot, by_client_[client].size() - 1)));
    rows.push_back(stacked(row, site_));
  }
  return stacked(rows, site_);
}

std::vector<Tensor> RemoteGroup::all_reduce(Reduction reduction) {
  const DeviceScope on(home_->name());
  const DType dtype = at_home(0).dtype();
  const bool widens = reduction == Reduction::mean && is_half(dtype);
  std::vector<Tensor> mine;
  for (std::size_t i = 0; i < group_.local.size(); ++i) mine.push_back(widens ? cast(at_home(i), DType::f32, site_) : at_home(i));
  const Reduction step = between_processes(reduction, dtype);
  Tensor all = process_all_reduce(processes(), reduced(mine, step, site_), step, reduction, site_);
  if (reduction == Reduction::mean) all = cast(divide(all, static_cast<double>(group_.size()), site_), dtype, site_);
  return std::vector<Tensor>(group_.local.size(), all);
}

std::vector<Tensor> RemoteGroup::broadcast(std::size_t root) {
  const Seat seat = seats_[root];
  const bool is_here = seat.client == static_cast<std::size_t>(processes_.index());
  const Tensor all = process_broadcast(processes(), at_home(is_here ? seat.slot : 0), static_cast<int>(seat.client), site_);
  return std::vector<Tensor>(group_.local.size(), all);
}

std::vector<Tensor> RemoteGroup::all_gather(std::size_t axis) {
  const DeviceScope on(home_->name());
  std::vector<Tensor> mine;
  for (std::size_t slot = 0; slot < slots_; ++slot) mine.push_back(at_home(std::min(slot, group_.local.size() - 1)));
  const Tensor all = process_all_gather(processes(), stacked(mine, site_), site_);
  std::vector<Tensor> parts;
  for (const Seat& seat : seats_)
    parts.push_back(index(all, {static_cast<std::int64_t>(seat.client), static_cast<std::int64_t>(seat.slot)}, site_));
  return std::vector<Tensor>(group_.local.size(), concat(parts, static_cast<std::int64_t>(axis), site_));
}

std::vector<Tensor> RemoteGroup::reduce_scatter(std::size_t axis, Reduction reduction) {
  const DeviceScope on(home_->name());
  const DType dtype = at_home(0).dtype();
  const bool widens = reduction == Reduction::mean && is_half(dtype);
  const Reduction step = between_processes(reduction, dtype);
  const Tensor mine = seated([&](std::size_t client, std::size_t slot) {
    std::vector<Tensor> parts;
    for (std::size_t i = 0; i < group_.local.size(); ++i) {
      const Tensor one = part(at_home(i), axis, by_client_[client][slot]);
      parts.push_back(widens ? cast(one, DType::f32, site_) : one);
    }
    return reduced(parts, step, site_);
  });
  Tensor all = process_reduce_scatter(processes(), mine, step, reduction, site_);
  if (reduction == Reduction::mean) all = cast(divide(all, static_cast<double>(group_.size()), site_), dtype, site_);
  std::vector<Tensor> out;
  for (std::size_t slot = 0; slot < group_.local.size(); ++slot)
    out.push_back(index(all, {static_cast<std::int64_t>(slot)}, site_));
  return out;
}

std::vector<Tensor> RemoteGroup::all_to_all(std::size_t split_axis, std::size_t concat_axis) {
  const DeviceScope on(home_->name());
  // By the process it goes to, the seat there, and the seat here that it comes from.
  const Tensor mine = seated([&](std::size_t client, std::size_t slot) {
    std::vector<Tensor> from;
    for (std::size_t i = 0; i < slots_; ++i)
      from.push_back(part(at_home(std::min(i, group_.local.size() - 1)), split_axis, by_client_[client][slot]));
    return stacked(from, site_);
  });
  const Tensor all = process_all_to_all(processes(), mine, site_);
  std::vector<Tensor> out;
  for (std::size_t slot = 0; slot < group_.local.size(); ++slot) {
    std::vector<Tensor> parts;
    for (const Seat& seat : seats_) {
      parts.push_back(index(
          all, {static_cast<std::int64_t>(seat.client), static_cast<std::int64_t>(slot), static_cast<std::int64_t>(seat.slot)},
          site_));
    }
    out.push_back(concat(parts, static_cast<std::int64_t>(concat_axis), site_));
  }
  return out;
}

}  // namespace tutti::detail

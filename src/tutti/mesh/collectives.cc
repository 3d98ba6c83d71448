#include "tutti/mesh/collectives.h"

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/journal/named_scope.h"
#include "tutti/mesh/group.h"
#include "tutti/mesh/local_devices.h"
#include "tutti/mesh/reductions.h"
#include "tutti/mesh/remote_collectives.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/manipulation.h"
#include "tutti/tensor/mirrors.h"

namespace tutti {

namespace {

using detail::Group;
using detail::made_on;
using detail::on_device;

// Up to this size every member reduces all of it: one round of copies. Above, each reduces a part, and the parts are gathered:
// less is moved, in two rounds.
constexpr std::int64_t most_reduced_everywhere = std::int64_t{32} << 10U;

constexpr std::int64_t most_kept_on_host = std::int64_t{4} << 10U;

std::int64_t bytes_of(const Tensor& x) { return x.size() * static_cast<std::int64_t>(size_of(x.dtype())); }

// What a collective needs to know of the devices it runs on, and the tensors it was given, each on its device.
class Members {
 public:
  Members(const char* what, const std::vector<Tensor>& local, const Mesh& mesh, const std::vector<std::string>& dims, Site site)
      : mesh_(mesh),
        what_(what),
        dims_(detail::dim_indices(mesh, dims, what, site)),
        devices_(mesh.local_devices(site)),
        site_(site),
        scope_(what, site) {
    detail::require_local_devices(mesh, what, site);
    if (local.size() != devices_.size()) {
      throw InvalidArgument(text(what, ": ", local.size(), " tensors were given for the ", devices_.size(),
                                 " devices that this process has in the mesh; give one for each"),
                            site);
    }
    groups_ = detail::groups_along(mesh, dims_);
    for (const Group& group : groups_) check_alike(local, group);
    for (std::size_t i = 0; i < local.size(); ++i)
      held_.push_back(copied(local[i], *devices_[i], {.for_op = what, .input = static_cast<std::int64_t>(i)}, site));
  }

  [[nodiscard]] std::size_t group_size() const noexcept { return groups_.front().size(); }
  [[nodiscard]] const Shape& shape_of(const Group& group) const { return held_[group.local.front()].shape(); }

  // make(group, k) for member k of each group that is all here, on its device.
  template <class Make>
  std::vector<Tensor> on_each(Make&& make) {
    std::vector<Tensor> out(held_.size());
    for (const Group& group : groups_) {
      if (!group.is_local()) continue;
      for (std::size_t k = 0; k < group.size(); ++k) {
        const std::size_t at = group.local[k];
        out[at] = made_on(*devices_[at], site_, [&] { return make(group, k); });
      }
    }
    return out;
  }

  // The same with make(remote) for the members of each group that is not; every process goes through them in the same order.
  template <class Make>
  std::vector<Tensor> and_remote(std::vector<Tensor> out, Make&& make) {
    for (const Group& group : groups_) {
      if (group.is_local()) continue;
      detail::RemoteGroup remote(mesh_, group, held_, site_);
      const std::vector<Tensor> made = make(remote);
      for (std::size_t i = 0; i < group.local.size(); ++i) out[group.local[i]] = placed(made[i], *devices_[group.local[i]]);
    }
    return out;
  }

  // part(x, j) of every member j's tensor, on the device of member k.
  template <class Part>
  std::vector<Tensor> parts_for(const Group& group, std::size_t k, const std::vector<Tensor>& of, Part&& part) const {
    std::vector<Tensor> out;
    for (std::size_t j = 0; j < group.size(); ++j)
      out.push_back(on_device(part(of[group.local[j]]), *devices_[group.local[k]], site_));
    return out;
  }
  [[nodiscard]] const std::vector<Tensor>& held() const noexcept { return held_; }

  // The same for all groups: their tensors have as many axes.
  [[nodiscard]] std::size_t axis(std::int64_t axis) const {
    std::size_t found = 0;
    for (const Group& group : groups_) found = checked_axis(what_, axis, shape_of(group).size(), site_);
    return found;
  }

  // The axis, which must be a multiple of the group's size.
  std::size_t even_axis(std::int64_t axis) const {
    std::size_t found = 0;
    for (const Group& group : groups_) {
      const Shape& shape = shape_of(group);
      found = checked_axis(what_, axis, shape.size(), site_);
      if (shape[found] % static_cast<std::int64_t>(group.size()) == 0) continue;
      throw ShapeError(text(what_, ": axis ", found, " of shape ", to_string(shape), " has ", shape[found],
                            " elements, which must be evenly divisible by the ", group.size(), " devices of the mesh dimension"),
                       site_);
    }
    return found;
  }

  void check_reduction(Reduction reduction) const {
    for (const Tensor& each : held_) {
      if (reduction != Reduction::mean || is_floating(each.dtype())) continue;
      throw DTypeError(text(what_, ": a mean is of floating dtypes, not ", to_string(each.dtype()), "; cast it first"), site_);
    }
  }

 private:
  // What the host has anyway is kept for it while that is little: who reads it does not wait for the device.
  [[nodiscard]] Tensor placed(const Tensor& on_host, LogicalDevice& device) const {
    Tensor out = on_device(on_host, device, site_);
    if (!detail::is_on(on_host, device) && bytes_of(out) <= most_kept_on_host) Mirrors::keep(out.impl(), on_host);
    return out;
  }

  void check_alike(const std::vector<Tensor>& local, const Group& group) const {
    const Tensor& first = local[group.local.front()];
    for (const std::size_t at : group.local) {
      const Tensor& each = local[at];
      if (each.shape(site_) == first.shape(site_) && each.dtype() == first.dtype()) continue;
      throw ShapeError(text(what_, ": the members of a group must bring one shape and dtype; ",
                            devices_[group.local.front()]->name(), " brings ", to_string(first.dtype()), to_string(first.shape()),
                            ", ", devices_[at]->name(), " brings ", to_string(each.dtype()), to_string(each.shape())),
                       site_);
    }
  }

  const Mesh& mesh_;
  const char* what_;
  std::vector<std::size_t> dims_;
  std::span<LogicalDevice* const> devices_;
  Site site_;
  NamedScope scope_;
  detail::DerivedOrder ordered_;
  std::vector<Group> groups_;
  std::vector<Tensor> held_;
};

// Part k of n of an axis; the parts differ in length by one at most.
Tensor part_of(const Tensor& x, std::size_t axis, std::size_t k, std::size_t n, Site site) {
  const auto length = x.shape()[axis];
  const auto count = static_cast<std::int64_t>(n);
  const auto at = static_cast<std::int64_t>(k);
  return slice(x, static_cast<std::int64_t>(axis), {length * at / count, length * (at + 1) / count}, site);
}

Tensor joined(const std::vector<Tensor>& parts, std::size_t axis, Site site) {
  return parts.size() == 1 ? parts.front() : concat(parts, static_cast<std::int64_t>(axis), site);
}

}  // namespace

std::vector<Tensor> all_reduce(const std::vector<Tensor>& local, const Mesh& mesh, const MeshDims& dims, Reduction reduction,
                               Site site) {
  Members members("all_reduce", local, mesh, dims.names(), site);
  members.check_reduction(reduction);
  const std::size_t n = members.group_size();
  if (n == 1) return members.held();
  const auto reduce = [&](const std::vector<Tensor>& parts) { return detail::reduced(parts, reduction, site); };
  const auto whole = [](const Tensor& x) { return x; };
  const std::int64_t bytes = bytes_of(members.held().front());
  const auto remote = [&](detail::RemoteGroup& group) { return group.all_reduce(reduction); };
  if (bytes <= most_reduced_everywhere) {
    return members.and_remote(members.on_each([&](const Group& group, std::size_t k) {
      return reduce(members.parts_for(group, k, members.held(), whole));
    }),
                              remote);
  }
  const std::vector<Tensor> parts = members.on_each([&](const Group& group, std::size_t k) {
    return reduce(members.parts_for(group, k, members.held(),
                                    [&](const Tensor& x) { return part_of(reshape(x, {-1}, site), 0, k, n, site); }));
  });
  return members.and_remote(members.on_each([&](const Group& group, std::size_t k) {
    return reshape(joined(members.parts_for(group, k, parts, whole), 0, site), members.shape_of(group), site);
  }),
                            remote);
}

Tensor detail::reduced_on_first(const std::vector<Tensor>& local, const Mesh& mesh, Reduction reduction, Site site) {
  std::vector<std::string> dims;
  for (const MeshDim& dim : mesh.dims(site)) dims.push_back(dim.name);
  Members members("reduce", local, mesh, dims, site);
  members.check_reduction(reduction);
  if (!mesh.is_local()) {
    return members.and_remote(std::vector<Tensor>(local.size()),
                              [&](RemoteGroup& group) { return group.all_reduce(reduction); })[0];
  }
  LogicalDevice& first = *mesh.local_devices().front();
  std::vector<Tensor> parts;
  for (const Tensor& each : members.held()) parts.push_back(on_device(each, first, site));
  return made_on(first, site, [&] { return reduced(parts, reduction, site); });
}

std::vector<Tensor> broadcast(const std::vector<Tensor>& local, const Mesh& mesh, const std::string& dim, std::int64_t root,
                              Site site) {
  Members members("broadcast", local, mesh, {dim}, site);
  if (root < 0 || root >= mesh.dim_size(dim)) {
    throw InvalidArgument(
        text("broadcast: mesh dimension '", dim, "' has size ", mesh.dim_size(dim), "; there is no root ", root), site);
  }
  const auto at = static_cast<std::size_t>(root);
  return members.and_remote(members.on_each([&](const Group& group, std::size_t) { return members.held()[group.local[at]]; }),
                            [&](detail::RemoteGroup& group) { return group.broadcast(at); });
}

std::vector<Tensor> all_gather(const std::vector<Tensor>& local, const Mesh& mesh, const std::string& dim, std::int64_t axis,
                               Site site) {
  Members members("all_gather", local, mesh, {dim}, site);
  const std::size_t along = members.axis(axis);
  return members.and_remote(members.on_each([&](const Group& group, std::size_t k) {
    return joined(members.parts_for(group, k, members.held(), [](const Tensor& x) { return x; }), along, site);
  }),
                            [&](detail::RemoteGroup& group) { return group.all_gather(along); });
}

std::vector<Tensor> reduce_scatter(const std::vector<Tensor>& local, const Mesh& mesh, const std::string& dim, std::int64_t axis,
                                   Reduction reduction, Site site) {
  Members members("reduce_scatter", local, mesh, {dim}, site);
  members.check_reduction(reduction);
  const std::size_t along = members.even_axis(axis);
  const std::size_t n = members.group_size();
  if (n == 1) return members.held();
  return members.and_remote(members.on_each([&](const Group& group, std::size_t k) {
    const auto part = [&](const Tensor& x) { return part_of(x, along, k, n, site); };
    return contiguous(detail::reduced(members.parts_for(group, k, members.held(), part), reduction, site), site);
  }),
                            [&](detail::RemoteGroup& group) { return group.reduce_scatter(along, reduction); });
}

std::vector<Tensor> all_to_all(const std::vector<Tensor>& local, const Mesh& mesh, const std::string& dim,
                               std::int64_t split_axis, std::int64_t concat_axis, Site site) {
  Members members("all_to_all", local, mesh, {dim}, site);
  const std::size_t from = members.even_axis(split_axis);
  const std::size_t n = members.group_size();
  if (n == 1) return members.held();
  const std::size_t to = members.axis(concat_axis);
  return members.and_remote(members.on_each([&](const Group& group, std::size_t k) {
    return joined(members.parts_for(group, k, members.held(), [&](const Tensor& x) { return part_of(x, from, k, n, site); }), to,
                  site);
  }),
                            [&](detail::RemoteGroup& group) { return group.all_to_all(from, to); });
}

namespace {

// What was combined along these dimensions no longer differs along them.
ShardedTensor whole_along(const ShardedTensor& x, const std::vector<std::string>& dims, std::vector<Tensor> shards, Site site) {
  Layout layout = x.layout();
  for (const std::string& dim : dims) {
    if (const std::optional<std::size_t> axis = layout.axis_of(x.mesh().dim_index(dim, site))) layout = layout.with(*axis, {});
  }
  const Shape global = layout.global_shape(shards.front().shape(), site);
  return {std::move(layout), global, std::move(shards)};
}

std::size_t sharded_axis(const ShardedTensor& x, const std::string& dim, const char* what, Site site) {
  if (const std::optional<std::size_t> axis = x.layout(site).axis_of(x.mesh().dim_index(dim, site))) return *axis;
  throw InvalidArgument(text(what, ": mesh dimension '", dim, "' shards no axis of the layout ", x.layout().specs_text()), site);
}

void require_whole(const ShardedTensor& x, std::size_t axis, const char* what, Site site) {
  if (!x.layout().dim_of(axis)) return;
  throw InvalidArgument(text(what, ": axis ", axis, " of the layout ", x.layout().specs_text(), " is sharded over '",
                             x.layout().spec(axis), "' already"),
                        site);
}

}  // namespace

ShardedTensor all_reduce(const ShardedTensor& x, const MeshDims& dims, Reduction reduction, Site site) {
  return whole_along(x, dims.names(), all_reduce(x.shards(site), x.mesh(), dims, reduction, site), site);
}

ShardedTensor broadcast(const ShardedTensor& x, const std::string& dim, std::int64_t root, Site site) {
  return whole_along(x, {dim}, broadcast(x.shards(site), x.mesh(), dim, root, site), site);
}

ShardedTensor all_gather(const ShardedTensor& x, const std::string& dim, Site site) {
  const std::size_t axis = sharded_axis(x, dim, "all_gather", site);
  return whole_along(x, {dim}, all_gather(x.shards(), x.mesh(), dim, static_cast<std::int64_t>(axis), site), site);
}

ShardedTensor reduce_scatter(const ShardedTensor& x, const std::string& dim, std::int64_t axis, Reduction reduction, Site site) {
  const std::size_t along = checked_axis("reduce_scatter", axis, x.rank(site), site);
  const std::size_t over = x.mesh().dim_index(dim, site);
  require_whole(x, along, "reduce_scatter", site);
  if (const std::optional<std::size_t> other = x.layout().axis_of(over)) {
    throw InvalidArgument(text("reduce_scatter: mesh dimension '", dim, "' shards axis ", *other, " of the layout ",
                               x.layout().specs_text(), "; relayout it first, or use all_to_all"),
                          site);
  }
  return {x.layout().with(along, over), x.shape(),
          reduce_scatter(x.shards(), x.mesh(), dim, static_cast<std::int64_t>(along), reduction, site)};
}

ShardedTensor all_to_all(const ShardedTensor& x, const std::string& dim, std::int64_t axis, Site site) {
  const std::size_t from = sharded_axis(x, dim, "all_to_all", site);
  const std::size_t to = checked_axis("all_to_all", axis, x.rank(), site);
  if (from == to) return x;
  require_whole(x, to, "all_to_all", site);
  return {x.layout().with(from, {}).with(to, x.mesh().dim_index(dim)), x.shape(),
          all_to_all(x.shards(), x.mesh(), dim, static_cast<std::int64_t>(to), static_cast<std::int64_t>(from), site)};
}

}  // namespace tutti

#include "tutti/mesh/relayout.h"

#include <optional>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/collectives.h"
#include "tutti/mesh/local_devices.h"
#include "tutti/ops/views.h"

namespace tutti {

namespace {

using Kind = RelayoutStep::Kind;

// The step of this kind that can be done now, if there is one.
std::optional<RelayoutStep> next_step(const Layout& now, const Layout& to, Kind kind) {
  for (std::size_t dim = 0; dim < now.mesh().dims().size(); ++dim) {
    const std::optional<std::size_t> is_at = now.axis_of(dim);
    const std::optional<std::size_t> goes_to = to.axis_of(dim);
    if (is_at == goes_to) continue;
    const Kind needed = !is_at ? Kind::slice : !goes_to ? Kind::all_gather : Kind::all_to_all;
    if (needed != kind) continue;
    if (goes_to && now.dim_of(*goes_to)) continue;  // another dimension has to leave that axis first
    return RelayoutStep{kind, dim, is_at.value_or(0), goes_to.value_or(0)};
  }
  return std::nullopt;
}

// Dimensions that wait for each other's axes in a circle: the smallest of them is gathered, and sliced again at the end.
RelayoutStep way_out(const Layout& now, const Layout& to) {
  std::optional<RelayoutStep> out;
  for (std::size_t dim = 0; dim < now.mesh().dims().size(); ++dim) {
    const std::optional<std::size_t> is_at = now.axis_of(dim);
    if (!is_at || is_at == to.axis_of(dim)) continue;
    if (!out || now.mesh().sizes()[dim] < now.mesh().sizes()[out->dim]) out = RelayoutStep{Kind::all_gather, dim, *is_at, 0};
  }
  return *out;
}

Layout after(const Layout& now, const RelayoutStep& step) {
  switch (step.kind) {
    case Kind::slice: return now.with(step.to, step.dim);
    case Kind::all_gather: return now.with(step.from, {});
    case Kind::all_to_all: break;
  }
  return now.with(step.from, {}).with(step.to, step.dim);
}

std::vector<Tensor> sliced(const std::vector<Tensor>& shards, const Mesh& mesh, const RelayoutStep& step, Site site) {
  const std::int64_t parts = mesh.sizes()[step.dim];
  if (parts == 1) return shards;
  return detail::made_on_each(mesh, site, [&](std::size_t i) {
    const std::int64_t length = shards[i].shape()[step.to] / parts;
    const std::int64_t begin = length * mesh.coordinates(mesh.local_positions()[i])[step.dim];
    const Tensor part = slice(shards[i], static_cast<std::int64_t>(step.to), {begin, begin + length}, site);
    return copied(part, *mesh.local_devices()[i], {}, site);  // a view would keep all of it alive
  });
}

}  // namespace

std::vector<RelayoutStep> relayout_steps(const Layout& from, const Layout& to, Site site) {
  if (!(from.mesh() == to.mesh())) {
    throw InvalidArgument(text("relayout stays on one mesh; the tensor is on ", printable(from.mesh().to_string(site)),
                               ", the layout is of ", printable(to.mesh().to_string(site))),
                          site);
  }
  if (from.rank() != to.rank()) {
    throw ShapeError(
        text("relayout: the layout ", to.specs_text(), " is for tensors of ", to.rank(), " axes; this one has ", from.rank()),
        site);
  }
  std::vector<RelayoutStep> out;
  Layout now = from;
  while (!(now == to)) {
    std::optional<RelayoutStep> step;
    for (const Kind kind : {Kind::slice, Kind::all_to_all, Kind::all_gather}) {
      if (!step) step = next_step(now, to, kind);
    }
    out.push_back(step ? *step : way_out(now, to));
    now = after(now, out.back());
  }
  return out;
}

std::string to_string(const std::vector<RelayoutStep>& steps, const Mesh& mesh) {
  std::string out;
  for (const RelayoutStep& step : steps) {
    const std::string& dim = mesh.dims()[step.dim].name;
    out += out.empty() ? "" : ", ";
    switch (step.kind) {
      case Kind::slice: out += text("slice axis ", step.to, " over '", dim, "'"); break;
      case Kind::all_gather: out += text("all_gather axis ", step.from, " over '", dim, "'"); break;
      case Kind::all_to_all: out += text("all_to_all over '", dim, "' from axis ", step.from, " to axis ", step.to); break;
    }
  }
  return out.empty() ? "nothing" : out;
}

ShardedTensor relayout(const ShardedTensor& x, const Layout& layout, Site site) {
  const std::vector<RelayoutStep> steps = relayout_steps(x.layout(site), layout, site);
  static_cast<void>(layout.shard_shape(x.shape(), site));  // refuses what cannot be split, before anything is moved
  const detail::DerivedOrder ordered;
  const Mesh& mesh = x.mesh();
  std::vector<Tensor> shards = x.shards();
  for (const RelayoutStep& step : steps) {
    const std::string& dim = mesh.dims()[step.dim].name;
    const auto from = static_cast<std::int64_t>(step.from);
    const auto to = static_cast<std::int64_t>(step.to);
    switch (step.kind) {
      case Kind::slice: shards = sliced(shards, mesh, step, site); break;
      case Kind::all_gather: shards = all_gather(shards, mesh, dim, from, site); break;
      case Kind::all_to_all: shards = all_to_all(shards, mesh, dim, to, from, site); break;
    }
  }
  return {layout, x.shape(), std::move(shards)};
}

}  // namespace tutti

#include "tutti/mesh/layout.h"

#include <algorithm>

#include "tutti/base/error.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {

Layout one_axis_sharded(const char* function, const Mesh& mesh, std::string_view dim, std::size_t rank, bool is_first,
                        Site site) {
  if (rank == 0) throw InvalidArgument(text("Layout::", function, ": a tensor without axes has none to shard"), site);
  std::vector<std::string> specs(rank, unsharded);
  (is_first ? specs.front() : specs.back()) = dim;
  return {specs, mesh, site};
}

}  // namespace

Layout::Layout(const std::vector<std::string>& specs, Mesh mesh, Site site) : mesh_(std::move(mesh)) {
  check_specs(specs, {{}, mesh_.dims(site), {}}, site);
  for (const std::string& spec : specs)
    dims_.push_back(spec == unsharded ? -1 : static_cast<std::int64_t>(mesh_.dim_index(spec, site)));
}

Layout Layout::replicated(const Mesh& mesh, std::size_t rank, Site site) {
  return {std::vector<std::string>(rank, unsharded), mesh, site};
}
Layout Layout::batch_sharded(const Mesh& mesh, std::string_view dim, std::size_t rank, Site site) {
  return one_axis_sharded("batch_sharded", mesh, dim, rank, true, site);
}
Layout Layout::inner_sharded(const Mesh& mesh, std::string_view dim, std::size_t rank, Site site) {
  return one_axis_sharded("inner_sharded", mesh, dim, rank, false, site);
}

const std::string& Layout::spec(std::size_t axis) const {
  static const std::string& none = *new std::string(unsharded);  // static objects may use it to the end
  const std::optional<std::size_t> dim = dim_of(axis);
  return dim ? mesh_.dims()[*dim].name : none;
}

std::vector<std::string> Layout::specs() const {
  std::vector<std::string> out;
  for (std::size_t axis = 0; axis < rank(); ++axis) out.push_back(spec(axis));
  return out;
}

std::optional<std::size_t> Layout::axis_of(std::size_t dim) const noexcept {
  for (std::size_t axis = 0; axis < rank(); ++axis) {
    if (dims_[axis] == static_cast<std::int64_t>(dim)) return axis;
  }
  return std::nullopt;
}

bool Layout::is_fully_replicated() const noexcept {
  return std::all_of(dims_.begin(), dims_.end(), [](std::int64_t dim) { return dim < 0; });
}

Layout Layout::with(std::size_t axis, std::optional<std::size_t> dim, Site site) const {
  if (axis >= rank()) throw InvalidArgument(text("the layout ", specs_text(), " has no axis ", axis), site);
  if (dim) {
    std::vector<std::string> changed = specs();
    if (*dim >= mesh_.dims().size()) throw InvalidArgument(text("the mesh has no dimension number ", *dim), site);
    changed[axis] = mesh_.dims()[*dim].name;
    check_specs(changed, {{}, mesh_.dims(), {}}, site);
  }
  Dims dims = dims_;
  dims[axis] = dim ? static_cast<std::int64_t>(*dim) : -1;
  return {mesh_, dims};
}

void Layout::check_rank(const Shape& shape, Site site) const {
  if (shape.size() == rank()) return;
  throw ShapeError(text("the layout ", specs_text(), " is for tensors of ", rank(), " axes; the shape ", tutti::to_string(shape),
                        " has ", shape.size()),
                   site);
}

Shape Layout::shard_shape(const Shape& global, Site site) const {
  check_rank(global, site);
  Shape out = global;
  for (std::size_t axis = 0; axis < rank(); ++axis) {
    const std::int64_t shards = num_shards(axis);
    if (global[axis] < 0)
      throw ShapeError(text("a tensor of shape ", tutti::to_string(global), " cannot be: sizes must not be negative"), site);
    if (global[axis] % shards != 0) {
      throw ShapeError(text("axis ", axis, " of shape ", tutti::to_string(global), " has ", global[axis],
                            " elements, which must be evenly divisible by the ", shards, " devices of mesh dimension '",
                            spec(axis), "'; pad it to ", (global[axis] / shards + 1) * shards, " or leave the axis unsharded"),
                       site);
    }
    out[axis] = global[axis] / shards;
  }
  return out;
}

Dims Layout::shard_offset(const Shape& global, std::size_t position, Site site) const {
  Dims out = shard_shape(global, site);
  const Dims at = mesh_.coordinates(position, site);
  for (std::size_t axis = 0; axis < rank(); ++axis) {
    const std::optional<std::size_t> dim = dim_of(axis);
    out[axis] *= dim ? at[*dim] : 0;
  }
  return out;
}

Shape Layout::global_shape(const Shape& shard, Site site) const {
  check_rank(shard, site);
  Shape out = shard;
  for (std::size_t axis = 0; axis < rank(); ++axis) {
    if (__builtin_mul_overflow(shard[axis], num_shards(axis), &out[axis])) {
      throw ShapeError(text("shards of shape ", tutti::to_string(shard), " make a tensor whose size does not fit in 63 bits"),
                       site);
    }
  }
  return out;
}

std::string Layout::specs_text() const {
  std::string out = "(";
  for (std::size_t axis = 0; axis < rank(); ++axis) out += text(axis > 0 ? ", " : "", spec(axis));
  return out + ")";
}

std::string Layout::to_string(Site site) const {
  return tutti::to_string(LayoutDescription{specs(), {mesh_.name(site), mesh_.dims(), mesh_.devices()}});
}

Layout parse_layout(std::string_view text, const MeshClients& clients, Site site) {
  const LayoutDescription parsed = parse_layout_text(text, site);
  return {parsed.specs, parse_mesh(tutti::to_string(parsed.mesh), clients, site), site};
}

}  // namespace tutti

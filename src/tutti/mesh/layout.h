// A layout: how a tensor is spread over a mesh. Each axis is sharded over one dimension of the mesh or not at all; along the
// dimensions that shard nothing, devices hold the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/mesh/mesh.h"

namespace tutti {

class Layout {
 public:
  Layout() noexcept = default;
  // For each axis a dimension of the mesh or `unsharded`: Layout({"x", unsharded}, mesh).
  Layout(const std::vector<std::string>& specs, Mesh mesh, Site site = {});

  static Layout replicated(const Mesh& mesh, std::size_t rank, Site site = {});
  // The first, and the last axis sharded.
  static Layout batch_sharded(const Mesh& mesh, std::string_view dim, std::size_t rank, Site site = {});
  static Layout inner_sharded(const Mesh& mesh, std::string_view dim, std::size_t rank, Site site = {});

  [[nodiscard]] const Mesh& mesh() const noexcept { return mesh_; }
  [[nodiscard]] std::size_t rank() const noexcept { return dims_.size(); }
  // "x" or "unsharded".
  [[nodiscard]] const std::string& spec(std::size_t axis) const;
  [[nodiscard]] std::vector<std::string> specs() const;
  // Which dimension of the mesh shards the axis, and which axis a dimension shards.
  [[nodiscard]] std::optional<std::size_t> dim_of(std::size_t axis) const noexcept {
    return dims_[axis] < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(dims_[axis]));
  }
  [[nodiscard]] std::optional<std::size_t> axis_of(std::size_t dim) const noexcept;
  [[nodiscard]] std::int64_t num_shards(std::size_t axis) const noexcept {
    return dims_[axis] < 0 ? 1 : mesh_.sizes()[static_cast<std::size_t>(dims_[axis])];
  }
  [[nodiscard]] bool is_fully_replicated() const noexcept;

  // The same with one axis sharded otherwise. Throws InvalidArgument where the dimension shards another axis already.
  [[nodiscard]] Layout with(std::size_t axis, std::optional<std::size_t> dim, Site site = {}) const;

  // Of a tensor of this shape: what one device holds, and where that begins. Throw ShapeError where an axis cannot be split
  // evenly.
  [[nodiscard]] Shape shard_shape(const Shape& global, Site site = {}) const;
  [[nodiscard]] Dims shard_offset(const Shape& global, std::size_t position, Site site = {}) const;
  // Of shards of this shape: what they make together. Throws ShapeError.
  [[nodiscard]] Shape global_shape(const Shape& shard, Site site = {}) const;

  // "(x, unsharded)"
  [[nodiscard]] std::string specs_text() const;
  // "sharding_specs:x,unsharded, mesh:name|x=2|..."; parse_layout reads it back.
  [[nodiscard]] std::string to_string(Site site = {}) const;

  friend bool operator==(const Layout& a, const Layout& b) noexcept { return a.dims_ == b.dims_ && a.mesh_ == b.mesh_; }

 private:
  Layout(Mesh mesh, const Dims& dims) : mesh_(std::move(mesh)), dims_(dims) {}
  void check_rank(const Shape& shape, Site site) const;

  Mesh mesh_;
  Dims dims_;  // for each axis a dimension of the mesh; -1: none
};

Layout parse_layout(std::string_view text, const MeshClients& clients = {}, Site site = {});

}  // namespace tutti

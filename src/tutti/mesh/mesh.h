// A mesh: devices of one or many processes on a grid whose dimensions have names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/mesh/mesh_text.h"
#include "tutti/place/runtime.h"
#include "tutti/tensor/shape.h"

namespace tutti {

// Which of how many processes this one is; left out: as its launcher says.
struct MeshClients {
  int rank = -1;
  int world = 0;
};

// One coordinate of a device: at x = 1.
struct MeshCoordinate {
  std::string dim;
  std::int64_t at = 0;
};

// A value: copying one copies a pointer. Devices are told by their position in the list, which is in row-major order of the
// dimensions.
class Mesh {
 public:
  struct State;

  // Of no use until one is assigned to it.
  Mesh() noexcept = default;
  explicit Mesh(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

  [[nodiscard]] bool is_defined() const noexcept { return state_ != nullptr; }
  [[nodiscard]] const std::string& name(Site site = {}) const { return described(site).name; }
  [[nodiscard]] const std::vector<MeshDim>& dims(Site site = {}) const { return described(site).dims; }
  // As a shape: "(2, 3)".
  [[nodiscard]] const Dims& sizes(Site site = {}) const;
  [[nodiscard]] std::size_t size(Site site = {}) const { return devices(site).size(); }
  [[nodiscard]] bool has_dim(std::string_view dim, Site site = {}) const;
  // Which of the dimensions it is, and its size. Throw InvalidArgument with those there are.
  [[nodiscard]] std::size_t dim_index(std::string_view dim, Site site = {}) const;
  [[nodiscard]] std::int64_t dim_size(std::string_view dim, Site site = {}) const;

  [[nodiscard]] const std::vector<MeshDevice>& devices(Site site = {}) const { return described(site).devices; }
  // The device at a position, which must be this process's: DeviceScope on(mesh.device(1)).
  [[nodiscard]] LogicalDevice& device(std::size_t position, Site site = {}) const;
  // One number for each dimension.
  [[nodiscard]] Dims coordinates(std::size_t position, Site site = {}) const;
  [[nodiscard]] std::size_t position(const Dims& coordinates, Site site = {}) const;

  // This process's devices: their positions, and the devices themselves.
  [[nodiscard]] std::span<const std::size_t> local_positions(Site site = {}) const;
  [[nodiscard]] std::span<LogicalDevice* const> local_devices(Site site = {}) const;
  // This process, and all that own a device of the mesh, ascending.
  [[nodiscard]] const MeshClients& client(Site site = {}) const;
  [[nodiscard]] const std::vector<int>& clients(Site site = {}) const;
  // Whether all its devices belong to this process.
  [[nodiscard]] bool is_local(Site site = {}) const { return local_positions(site).size() == size(site); }

  // The devices at these coordinates, as a mesh of the other dimensions.
  [[nodiscard]] Mesh sub_mesh(const std::vector<MeshCoordinate>& at, Site site = {}) const;
  // A mesh of these dimensions for each place in the others, in row-major order of the others.
  [[nodiscard]] std::vector<Mesh> sub_meshes(const std::vector<std::string>& dims, Site site = {}) const;

  // "name|x=2,y=3|/device:GPU:0,...": the same text on every client; parse_mesh reads it back.
  [[nodiscard]] std::string to_string(Site site = {}) const { return tutti::to_string(described(site)); }

  // The same dimensions over the same devices. The name is only a label.
  friend bool operator==(const Mesh& a, const Mesh& b) noexcept;

 private:
  [[nodiscard]] const State& checked(Site site) const;
  [[nodiscard]] const MeshDescription& described(Site site) const;

  std::shared_ptr<const State> state_;
};

struct MeshOptions {
  std::string name = {};
  std::string device_type = {};  // where no devices are named; empty: GPUs, and CPUs where there is none
};

// Over devices of this process; without devices: over as many of one type as there are. A size of -1, once, is what is left.
// Unknown devices, and numbers that do not go together, throw here.
Mesh create_mesh(const std::vector<MeshDim>& dims, const std::vector<std::string>& devices = {}, const MeshOptions& options = {},
                 Site site = {});
// Over the devices of many processes, each of which makes the same call with as many devices of its own: those of client k are
// the k-th block of the list.
Mesh create_distributed_mesh(const std::vector<MeshDim>& dims, const std::vector<std::string>& local_devices,
                             const MeshClients& clients = {}, const MeshOptions& options = {}, Site site = {});

// Reads what to_string wrote, here or on another client of the mesh.
Mesh parse_mesh(std::string_view text, const MeshClients& clients = {}, Site site = {});

}  // namespace tutti

// What a mesh is made of, and its text: "name|x=2,y=3|/device:GPU:0,...". Knows no device: a text says what was on another
// machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/base/site.h"

namespace tutti {

struct LogicalDeviceInfo;

struct MeshDim {
  std::string name;
  std::int64_t size = 0;
  friend bool operator==(const MeshDim&, const MeshDim&) = default;
};

// A device of the mesh: that of a client, which is a process by its rank.
struct MeshDevice {
  int client = 0;
  std::string type;
  unsigned index = 0;
  // For a DeviceScope. Of another process: a device that is not known here.
  operator LogicalDeviceInfo() const;
  friend bool operator==(const MeshDevice&, const MeshDevice&) = default;
};
// "GPU:0"
std::string to_string(const MeshDevice& device);

struct MeshDescription {
  std::string name;
  std::vector<MeshDim> dims;
  std::vector<MeshDevice> devices;  // in row-major order of the dimensions
  friend bool operator==(const MeshDescription&, const MeshDescription&) = default;
};

inline constexpr std::size_t most_mesh_dims = 8;
inline constexpr std::size_t most_mesh_devices = 65'536;
inline constexpr std::size_t longest_mesh_text = std::size_t{4} << 20U;
inline constexpr std::size_t longest_mesh_name = 128;

// "(2, 3)"
std::string sizes_text(const MeshDescription& mesh);

// Names, sizes and the number of devices go together; throws InvalidArgument that begins with `function`.
void check_mesh(const MeshDescription& mesh, std::string_view function, Site site);

// The same on every process of the mesh. Clients are told as tasks ("/task:1/device:GPU:0") where there is more than one.
std::string to_string(const MeshDescription& mesh);
// Throws InvalidArgument that says what was expected at which position.
MeshDescription parse_mesh_text(std::string_view text, Site site = {});

// "sharding_specs:x,unsharded, mesh:<text of the mesh>"; "scalar" stands for no axes.
struct LayoutDescription {
  std::vector<std::string> specs;
  MeshDescription mesh;
  friend bool operator==(const LayoutDescription&, const LayoutDescription&) = default;
};
inline constexpr const char* unsharded = "unsharded";

// Every spec names a dimension of the mesh, at most once, or is "unsharded".
void check_specs(const std::vector<std::string>& specs, const MeshDescription& mesh, Site site);
std::string to_string(const LayoutDescription& layout);
LayoutDescription parse_layout_text(std::string_view text, Site site = {});

}  // namespace tutti

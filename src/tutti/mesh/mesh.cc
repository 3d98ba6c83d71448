#include "tutti/mesh/mesh.h"

#include <algorithm>
#include <set>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/world.h"
#include "tutti/place/configuration.h"

namespace tutti {

struct Mesh::State {
  MeshDescription described;
  Dims sizes;
  MeshClients client;
  std::vector<int> clients;
  std::vector<std::size_t> local_positions;
  std::vector<LogicalDevice*> local_devices;
};

namespace {

MeshDevice mesh_device(int client, const LogicalDevice& device) { return {client, device.type(), device.index()}; }

MeshClients said_or_launched(const MeshClients& said, Site site) {
  if (said.rank != MeshClients{}.rank || said.world != MeshClients{}.world) return said;
  return {.rank = process_rank(site), .world = process_count(site)};
}

// Checks what was described and finds this process's devices.
Mesh make_mesh(MeshDescription described, const MeshClients& client, std::string_view function, Site site) {
  if (client.world < 1 || client.rank < 0 || client.rank >= client.world) {
    throw InvalidArgument(
        text(function, ": this process cannot be number ", client.rank, " of ", client.world, "; numbers begin at 0"), site);
  }
  check_mesh(described, function, site);
  auto state = std::make_shared<Mesh::State>();
  state->client = client;
  std::set<int> clients;
  for (std::size_t i = 0; i < described.devices.size(); ++i) {
    const MeshDevice& device = described.devices[i];
    if (device.client < 0 || device.client >= client.world) {
      throw InvalidArgument(text(function, ": ", to_string(device), " belongs to client ", device.client, ", but there are ",
                                 client.world, " clients only"),
                            site);
    }
    clients.insert(device.client);
    if (device.client != client.rank) continue;
    state->local_positions.push_back(i);
    state->local_devices.push_back(&find_device(text("/device:", to_string(device)), site));
  }
  state->clients.assign(clients.begin(), clients.end());
  for (const MeshDim& dim : described.dims) state->sizes.push_back(dim.size);
  state->described = std::move(described);
  return Mesh(std::move(state));
}

// Where a process is alone and more of them would have made the mesh.
std::string how_to_launch(int world, std::size_t wanted, std::size_t local) {
  if (world != 1 || wanted % local != 0) return {};
  return text(". This process is alone: start it with `tutti launch -n ", wanted / local, " -- ./program`");
}

// Replaces one -1 by what is left.
void resolve_sizes(MeshDescription& mesh, std::string_view function, Site site) {
  MeshDim* open = nullptr;
  std::int64_t others = 1;
  for (MeshDim& dim : mesh.dims) {
    if (dim.size != -1) {
      if (dim.size < 1 || __builtin_mul_overflow(others, dim.size, &others)) return;  // check_mesh says so
      continue;
    }
    if (open != nullptr) {
      throw InvalidArgument(text(function, ": the sizes of '", open->name, "' and '", dim.name,
                                 "' are both -1; only one can be what the others leave"),
                            site);
    }
    open = &dim;
  }
  if (open == nullptr) return;
  const auto devices = static_cast<std::int64_t>(mesh.devices.size());
  if (devices % others != 0 || devices == 0) {
    throw InvalidArgument(text(function, ": the size of '", open->name, "' is -1, but ", devices,
                               " devices cannot be shared out evenly over the ", others, " places of the other dimensions"),
                          site);
  }
  open->size = devices / others;
}

std::vector<LogicalDevice*> chosen_devices(const std::vector<std::string>& names, const std::string& type,
                                           std::string_view function, Site site) {
  std::vector<LogicalDevice*> out;
  for (const std::string& name : names) {
    out.push_back(&find_device(name, site));
    if (!type.empty() && out.back()->type() != parse_device_name(type, site).type) {
      throw InvalidArgument(text(function, ": Conflicting devices ", printable(name), " and device_type ", printable(type)),
                            site);
    }
  }
  if (!names.empty()) return out;
  const Runtime& instance = runtime(site);
  const std::string wanted =
      type.empty() ? instance.devices().front()->type() : parse_device_name(type, site).type.value_or(type);
  for (LogicalDevice* device : instance.devices()) {
    if (device->type() == wanted) out.push_back(device);
  }
  if (out.empty()) {
    throw UnknownDevice(
        text(function, ": there is no device of type '", printable(wanted), "'; there are: ", device_list(instance)), site);
  }
  return out;
}

}  // namespace

const Mesh::State& Mesh::checked(Site site) const {
  if (state_ != nullptr) [[likely]]
    return *state_;
  throw InvalidArgument("a mesh that was never made was used; assign the result of create_mesh to it first", site);
}

const MeshDescription& Mesh::described(Site site) const { return checked(site).described; }
MeshDevice::operator LogicalDeviceInfo() const {
  const std::string task = client == process_rank(Site{}) ? std::string() : text("/task:", client);
  return {.name = text(task, "/device:", to_string(*this)), .type = type, .index = index};
}

LogicalDevice& Mesh::device(std::size_t position, Site site) const {
  const std::span<const std::size_t> here = local_positions(site);
  const auto found = std::find(here.begin(), here.end(), position);
  if (found != here.end()) return *local_devices()[static_cast<std::size_t>(found - here.begin())];
  if (position >= size())
    throw InvalidArgument(text("the mesh has ", size(), " devices; there is none at position ", position), site);
  throw InvalidArgument(text("the device at position ", position, " of the mesh is ", tutti::to_string(devices()[position]),
                             " of client ", devices()[position].client, "; this process is client ", client().rank),
                        site);
}

const Dims& Mesh::sizes(Site site) const { return checked(site).sizes; }
std::span<const std::size_t> Mesh::local_positions(Site site) const { return checked(site).local_positions; }
std::span<LogicalDevice* const> Mesh::local_devices(Site site) const { return checked(site).local_devices; }
const MeshClients& Mesh::client(Site site) const { return checked(site).client; }
const std::vector<int>& Mesh::clients(Site site) const { return checked(site).clients; }

bool Mesh::has_dim(std::string_view dim, Site site) const {
  const auto& all = dims(site);
  return std::any_of(all.begin(), all.end(), [&](const MeshDim& each) { return each.name == dim; });
}

std::size_t Mesh::dim_index(std::string_view dim, Site site) const {
  const auto& all = dims(site);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == dim) return i;
  }
  std::string names;
  for (const MeshDim& each : all) names += text(names.empty() ? "" : ", ", each.name);
  throw InvalidArgument(
      text("'", printable(dim), "' is no dimension of the mesh; ", names.empty() ? "it has none" : text("it has: ", names)),
      site);
}

std::int64_t Mesh::dim_size(std::string_view dim, Site site) const { return sizes(site)[dim_index(dim, site)]; }

Dims Mesh::coordinates(std::size_t position, Site site) const {
  const Dims& all = sizes(site);
  if (position >= size())
    throw InvalidArgument(text("the mesh has ", size(), " devices; there is none at position ", position), site);
  Dims out = all;
  for (std::size_t i = all.size(); i-- > 0;) {
    out[i] = static_cast<std::int64_t>(position) % all[i];
    position /= static_cast<std::size_t>(all[i]);
  }
  return out;
}

std::size_t Mesh::position(const Dims& coordinates, Site site) const {
  const Dims& all = sizes(site);
  if (coordinates.size() != all.size()) {
    throw InvalidArgument(text("the mesh has ", all.size(), " dimensions; ", coordinates.size(), " coordinates were given"),
                          site);
  }
  std::int64_t out = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (coordinates[i] < 0 || coordinates[i] >= all[i]) {
      throw InvalidArgument(
          text("mesh dimension '", dims()[i].name, "' has size ", all[i], "; there is nothing at ", coordinates[i]), site);
    }
    out = out * all[i] + coordinates[i];
  }
  return static_cast<std::size_t>(out);
}

Mesh Mesh::sub_mesh(const std::vector<MeshCoordinate>& at, Site site) const {
  std::vector<std::int64_t> fixed(dims(site).size(), -1);
  for (const MeshCoordinate& each : at) {
    const std::size_t dim = dim_index(each.dim, site);
    if (fixed[dim] != -1) throw InvalidArgument(text("sub_mesh: '", each.dim, "' is given twice"), site);
    if (each.at < 0 || each.at >= sizes()[dim]) {
      throw InvalidArgument(
          text("sub_mesh: mesh dimension '", each.dim, "' has size ", sizes()[dim], "; there is nothing at ", each.at), site);
    }
    fixed[dim] = each.at;
  }
  MeshDescription out{name(), {}, {}};
  for (std::size_t dim = 0; dim < fixed.size(); ++dim) {
    if (fixed[dim] == -1) out.dims.push_back(dims()[dim]);
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const Dims here = coordinates(i);
    bool fits = true;
    for (std::size_t dim = 0; dim < fixed.size(); ++dim) fits = fits && (fixed[dim] == -1 || fixed[dim] == here[dim]);
    if (fits) out.devices.push_back(devices()[i]);
  }
  return make_mesh(std::move(out), client(), "sub_mesh", site);
}

std::vector<Mesh> Mesh::sub_meshes(const std::vector<std::string>& kept, Site site) const {
  std::vector<bool> is_kept(dims(site).size(), false);
  for (const std::string& dim : kept) is_kept[dim_index(dim, site)] = true;
  std::vector<Mesh> out;
  for (std::size_t i = 0; i < size(); ++i) {
    const Dims here = coordinates(i);
    std::vector<MeshCoordinate> at;
    bool is_first = true;
    for (std::size_t dim = 0; dim < is_kept.size(); ++dim) {
      if (is_kept[dim]) is_first = is_first && here[dim] == 0;
      if (!is_kept[dim]) at.push_back({dims()[dim].name, here[dim]});
    }
    if (is_first) out.push_back(sub_mesh(at, site));
  }
  return out;
}

bool operator==(const Mesh& a, const Mesh& b) noexcept {
  if (a.state_ == b.state_) return true;
  if (a.state_ == nullptr || b.state_ == nullptr) return false;
  return a.state_->described.dims == b.state_->described.dims && a.state_->described.devices == b.state_->described.devices &&
         a.state_->client.rank == b.state_->client.rank;
}

Mesh create_mesh(const std::vector<MeshDim>& dims, const std::vector<std::string>& devices, const MeshOptions& options,
                 Site site) {
  MeshDescription mesh{options.name, dims, {}};
  for (const LogicalDevice* device : chosen_devices(devices, options.device_type, "create_mesh", site))
    mesh.devices.push_back(mesh_device(0, *device));
  resolve_sizes(mesh, "create_mesh", site);
  return make_mesh(std::move(mesh), {.rank = 0, .world = 1}, "create_mesh", site);
}

Mesh create_distributed_mesh(const std::vector<MeshDim>& dims, const std::vector<std::string>& local_devices,
                             const MeshClients& of, const MeshOptions& options, Site site) {
  const MeshClients clients = said_or_launched(of, site);
  const auto local = chosen_devices(local_devices, options.device_type, "create_distributed_mesh", site);
  if (clients.world > 0 && local.size() > most_mesh_devices / static_cast<std::size_t>(clients.world)) {
    throw InvalidArgument(text("create_distributed_mesh: a mesh has at most ", most_mesh_devices, " devices; ", local.size(),
                               " for each of ", clients.world, " clients are more"),
                          site);
  }
  MeshDescription mesh{options.name, dims, {}};
  for (int client = 0; client < clients.world; ++client) {
    for (const LogicalDevice* device : local) mesh.devices.push_back(mesh_device(client, *device));
  }
  resolve_sizes(mesh, "create_distributed_mesh", site);
  std::int64_t size = 1;
  bool is_possible = true;  // else make_mesh says why not
  for (const MeshDim& dim : mesh.dims)
    is_possible = is_possible && dim.size > 0 && !__builtin_mul_overflow(size, dim.size, &size);
  if (is_possible && static_cast<std::size_t>(size) != mesh.devices.size()) {
    throw InvalidArgument(
        text("create_distributed_mesh: Global number of devices (", local.size(), " per client * ", clients.world,
             " clients = ", mesh.devices.size(), ") must be equal to total size of the mesh of shape ", sizes_text(mesh),
             ", which is ", size, how_to_launch(clients.world, static_cast<std::size_t>(size), local.size())),
        site);
  }
  return make_mesh(std::move(mesh), clients, "create_distributed_mesh", site);
}

Mesh parse_mesh(std::string_view text, const MeshClients& clients, Site site) {
  return make_mesh(parse_mesh_text(text, site), said_or_launched(clients, site), "parse_mesh", site);
}

}  // namespace tutti

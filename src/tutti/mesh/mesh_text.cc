#include "tutti/mesh/mesh_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <tuple>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/place/device_name.h"
#include "tutti/tensor/shape.h"

namespace tutti {

namespace {

constexpr bool is_word_character(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.'; }

bool is_word(std::string_view text) {
  return !text.empty() && text.size() <= longest_mesh_name && std::all_of(text.begin(), text.end(), is_word_character);
}

// What a layout's text says in the place of a dimension.
constexpr std::array<std::string_view, 4> taken_names{"unsharded", "scalar", "match", "any"};

bool is_taken(std::string_view name) { return std::find(taken_names.begin(), taken_names.end(), name) != taken_names.end(); }

void check_dim(const MeshDescription& mesh, std::size_t at, std::string_view function, Site site) {
  const MeshDim& dim = mesh.dims[at];
  if (!is_word(dim.name)) {
    throw InvalidArgument(
        text(function, ": '", printable(dim.name),
             "' cannot name a mesh dimension; use letters, digits, '_', '-' and '.', up to ", longest_mesh_name, " of them"),
        site);
  }
  if (is_taken(dim.name)) {
    throw InvalidArgument(
        text(function, ": a mesh dimension cannot be called '", dim.name, "', which means something in a layout"), site);
  }
  for (std::size_t i = 0; i < at; ++i) {
    if (mesh.dims[i].name == dim.name)
      throw InvalidArgument(text(function, ": the mesh has two dimensions called '", dim.name, "'"), site);
  }
  if (dim.size < 1) {
    throw InvalidArgument(text(function, ": mesh dimension '", dim.name, "' has size ", dim.size, "; it must be at least 1"),
                          site);
  }
}

void check_devices(const MeshDescription& mesh, std::string_view function, Site site) {
  std::set<std::tuple<int, unsigned>> seen;
  for (const MeshDevice& device : mesh.devices) {
    if (device.type != mesh.devices.front().type) {
      throw InvalidArgument(text(function, ": all devices of a mesh must be of one type; there are ",
                                 to_string(mesh.devices.front()), " and ", to_string(device)),
                            site);
    }
    if (!seen.emplace(device.client, device.index).second) {
      throw InvalidArgument(text(function, ": ", to_string(device), " of client ", device.client, " is in the mesh twice"), site);
    }
  }
}

std::string list_of(const std::vector<std::string>& specs) {
  std::string out = "(";
  for (const std::string& spec : specs) out += text(out.size() > 1 ? ", " : "", printable(spec, 40));
  return out + ")";
}

// One pass over a text, left to right.
class Reader {
 public:
  Reader(std::string_view all, Site site) : all_(all), site_(site) {
    if (all.size() > longest_mesh_text) fail(text("at most ", longest_mesh_text, " characters"), longest_mesh_text);
  }

  [[noreturn]] void fail(std::string_view expected, std::size_t position) const {
    throw InvalidArgument(text("'", printable(all_), "': ", expected, " expected at position ", position), site_);
  }

  [[nodiscard]] bool is_at_end() const { return at_ == all_.size(); }
  bool take(std::string_view literal) {
    if (all_.substr(at_, literal.size()) != literal) return false;
    at_ += literal.size();
    return true;
  }
  void expect(std::string_view literal) {
    if (!take(literal)) fail(text("'", literal, "'"), at_);
  }
  std::string take_word(std::string_view what) {
    const std::size_t begin = at_;
    while (!is_at_end() && is_word_character(all_[at_])) ++at_;
    const std::string_view word = all_.substr(begin, at_ - begin);
    if (!is_word(word)) fail(what, begin);
    return std::string(word);
  }
  std::int64_t take_size() {
    std::int64_t value = 0;
    const char* const begin = all_.data() + at_;
    const auto [stop, error] = std::from_chars(begin, all_.data() + all_.size(), value);
    if (error != std::errc{} || value < 1) fail("a size of at least 1", at_);
    at_ += static_cast<std::size_t>(stop - begin);
    return value;
  }
  MeshDevice take_device() {
    const std::size_t begin = at_;
    while (!is_at_end() && all_[at_] != ',') ++at_;
    const DeviceSpec spec = parse_device_name(all_.substr(begin, at_ - begin), site_);
    if (!spec.type || !spec.index || spec.job || spec.replica)
      fail("a device such as '/device:GPU:0' or '/task:1/device:GPU:0'", begin);
    constexpr unsigned most_clients = 1U << 24U;
    if (spec.task.value_or(0) >= most_clients) fail(text("a task below ", most_clients), begin);
    return {static_cast<int>(spec.task.value_or(0)), *spec.type, *spec.index};
  }

  MeshDescription take_mesh() {
    MeshDescription out;
    if (!take("|")) {
      out.name = take_word("the mesh's name or '|'");
      expect("|");
    }
    while (!take("|")) {
      if (!out.dims.empty()) expect(",");
      if (out.dims.size() == most_mesh_dims) fail(text("at most ", most_mesh_dims, " dimensions: '|'"), at_);
      MeshDim dim{take_word("a mesh dimension"), 0};
      expect("=");
      dim.size = take_size();
      out.dims.push_back(std::move(dim));
    }
    do {
      if (out.devices.size() == most_mesh_devices) fail(text("at most ", most_mesh_devices, " devices: the end"), at_);
      out.devices.push_back(take_device());
    } while (take(","));
    check_mesh(out, "parse_mesh", site_);
    return out;
  }

 private:
  std::string_view all_;
  std::size_t at_ = 0;
  Site site_;
};

}  // namespace

std::string to_string(const MeshDevice& device) { return text(device.type, ":", device.index); }

std::string sizes_text(const MeshDescription& mesh) {
  Dims sizes;
  for (const MeshDim& dim : mesh.dims) sizes.push_back(dim.size);
  return to_string(sizes);
}

void check_mesh(const MeshDescription& mesh, std::string_view function, Site site) {
  if (!mesh.name.empty() && !is_word(mesh.name)) {
    throw InvalidArgument(
        text(function, ": '", printable(mesh.name), "' cannot name a mesh; use letters, digits, '_', '-' and '.', up to ",
             longest_mesh_name, " of them"),
        site);
  }
  if (mesh.dims.size() > most_mesh_dims)
    throw InvalidArgument(text(function, ": a mesh has at most ", most_mesh_dims, " dimensions, not ", mesh.dims.size()), site);
  if (mesh.devices.size() > most_mesh_devices)
    throw InvalidArgument(text(function, ": a mesh has at most ", most_mesh_devices, " devices, not ", mesh.devices.size()),
                          site);
  std::int64_t size = 1;
  for (std::size_t i = 0; i < mesh.dims.size(); ++i) {
    check_dim(mesh, i, function, site);
    if (__builtin_mul_overflow(size, mesh.dims[i].size, &size)) {
      throw InvalidArgument(text(function, ": the size of a mesh of shape ", sizes_text(mesh), " does not fit in 63 bits"), site);
    }
  }
  if (static_cast<std::uint64_t>(size) != mesh.devices.size()) {
    throw InvalidArgument(text(function, ": length of devices (", mesh.devices.size(),
                               ") must be equal to total size of the mesh of shape ", sizes_text(mesh), ", which is ", size),
                          site);
  }
  check_devices(mesh, function, site);
}

std::string to_string(const MeshDescription& mesh) {
  std::string out = text(mesh.name, "|");
  for (std::size_t i = 0; i < mesh.dims.size(); ++i) out += text(i > 0 ? "," : "", mesh.dims[i].name, "=", mesh.dims[i].size);
  out += "|";
  const bool tells_clients =
      std::any_of(mesh.devices.begin(), mesh.devices.end(), [](const MeshDevice& device) { return device.client != 0; });
  bool is_first = true;
  for (const MeshDevice& device : mesh.devices) {
    DeviceSpec spec;
    if (tells_clients) spec.task = static_cast<unsigned>(device.client);
    spec.type = device.type;
    spec.index = device.index;
    out += text(is_first ? "" : ",", to_string(spec));
    is_first = false;
  }
  return out;
}

MeshDescription parse_mesh_text(std::string_view text, Site site) { return Reader(text, site).take_mesh(); }

void check_specs(const std::vector<std::string>& specs, const MeshDescription& mesh, Site site) {
  if (specs.size() > most_axes)
    throw InvalidArgument(text("Layout: a tensor has at most ", most_axes, " axes, not ", specs.size()), site);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i] == unsharded) continue;
    const auto names_it = [&](const MeshDim& dim) { return dim.name == specs[i]; };
    if (std::none_of(mesh.dims.begin(), mesh.dims.end(), names_it)) {
      std::string names;
      for (const MeshDim& dim : mesh.dims) names += text(names.empty() ? "" : ", ", dim.name);
      throw InvalidArgument(
          text(printable(specs[i]), ": A dimension sharding must either be a valid mesh dimension or UNSHARDED. ",
               names.empty() ? "The mesh has none" : text("The mesh has: ", names)),
          site);
    }
    if (std::find(specs.begin(), specs.begin() + static_cast<std::ptrdiff_t>(i), specs[i]) !=
        specs.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw InvalidArgument(text("Mesh dimension ", specs[i], " was repeated in sharding specification ", list_of(specs),
                                 ". A mesh dimension can shard one axis only"),
                            site);
    }
  }
}

std::string to_string(const LayoutDescription& layout) {
  std::string out = "sharding_specs:";
  for (std::size_t i = 0; i < layout.specs.size(); ++i) out += text(i > 0 ? "," : "", layout.specs[i]);
  if (layout.specs.empty()) out += "scalar";
  return text(out, ", mesh:", to_string(layout.mesh));
}

LayoutDescription parse_layout_text(std::string_view text, Site site) {
  Reader reader(text, site);
  LayoutDescription out;
  reader.expect("sharding_specs:");
  do {
    if (out.specs.size() > most_axes) break;  // refused below
    out.specs.push_back(reader.take_word("a mesh dimension, 'unsharded' or 'scalar'"));
    if (reader.take(", mesh:")) break;
    reader.expect(",");
  } while (true);
  if (out.specs == std::vector<std::string>{"scalar"}) out.specs.clear();
  if (out.specs.size() <= most_axes) out.mesh = reader.take_mesh();
  check_specs(out.specs, out.mesh, site);
  return out;
}

}  // namespace tutti

#include "tutti/place/configuration.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "tutti/base/environment.h"
#include "tutti/base/error.h"
#include "tutti/base/known_variables.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/backend.h"
#include "tutti/hal/lifecycle.h"
#include "tutti/place/device_name.h"
#include "tutti/place/frozen.h"
#include "tutti/place/runtime.h"

namespace tutti {

namespace {

using Key = std::pair<std::string, unsigned>;
Key key_of(const PhysicalDevice& device) { return {device.type, device.index}; }

struct Configuration {
  std::mutex mutex;
  bool simulation_chosen = false;  // by the program or, on first look, by the environment
  std::optional<std::vector<PhysicalDeviceInfo>> physical;
  std::map<std::string, std::vector<PhysicalDevice>> visible;  // a type that is absent: all of it
  std::map<Key, bool> growth;
  std::map<Key, std::vector<LogicalDeviceConfiguration>> logical;
};

constexpr std::uint64_t least_simulated_bytes = MiB(2);

Configuration& configuration() {
  static Configuration& instance = *new Configuration;
  return instance;
}

std::string upper(std::string_view text_in) {
  std::string out(text_in);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c); });
  return out == "CUDA" ? "GPU" : out;
}

std::string checked_type(std::string_view type, Site site) {
  std::string wanted = upper(type);
  if (!wanted.empty() && wanted != "CPU" && wanted != "GPU") {
    throw InvalidArgument(text("'", printable(type), "' is not a type of device; use 'CPU', 'GPU' or nothing for all"), site);
  }
  return wanted;
}

template <class... Names>
std::optional<bool> first_bool(Names... names) {
  std::optional<bool> out;
  ((out = out ? out : environment_bool(names)), ...);
  return out;
}

// Which GPUs there are at all, and in which order. CUDA_VISIBLE_DEVICES is for real ones, whose driver has followed it already.
void apply_visible_list(std::vector<PhysicalDeviceInfo>& gpus) {
  const char* variable = "TUTTI_VISIBLE_DEVICES";
  const std::optional<DeviceList> list = environment_device_list(variable);
  if (!list) return;
  std::vector<PhysicalDeviceInfo> kept;
  for (const ListedDevice& wanted : *list) {
    const unsigned* number = std::get_if<unsigned>(&wanted);
    if (number == nullptr || *number >= gpus.size()) {
      log(LogLevel::warning, text(variable, " names a GPU that is not there (",
                                  number != nullptr ? std::to_string(*number) : printable(std::get<std::string>(wanted)), " of ",
                                  gpus.size(), "); it and what follows is ignored, as CUDA does"));
      break;
    }
    kept.push_back(gpus[*number]);
  }
  gpus = std::move(kept);
}

void simulate_from_environment() {
  Simulation wanted = simulation();
  wanted.gpus = static_cast<unsigned>(environment_unsigned("TUTTI_SIM_GPUS", 0, 64).value_or(0));
  if (const auto bytes = environment_bytes("TUTTI_SIM_MEMORY")) {
    if (*bytes >= least_simulated_bytes) {
      wanted.options.memory_bytes = *bytes;
    } else {
      log(LogLevel::warning, text("TUTTI_SIM_MEMORY is ", *bytes, " bytes; a simulated GPU needs at least ",
                                  human_bytes(least_simulated_bytes), ". It is ignored."));
    }
  }
  if (const auto driver = environment_text("TUTTI_SIM_DRIVER")) {
    if (*driver == "stepped") {
      wanted.options.driver = SimulationDriver::stepped;
    } else if (*driver != "threaded") {
      log(LogLevel::warning,
          text("TUTTI_SIM_DRIVER is '", printable(*driver), "'; expected 'threaded' or 'stepped'. It is ignored."));
    }
  }
  wanted.options.seed = environment_unsigned("TUTTI_SIM_SEED").value_or(0);
  set_simulation(wanted);
}

const std::vector<PhysicalDeviceInfo>& physical_devices(Configuration& config) {
  if (config.physical) return *config.physical;
  report_unknown_variables();
  if (!config.simulation_chosen) {
    simulate_from_environment();
    config.simulation_chosen = true;
  }
  std::vector<PhysicalDeviceInfo> cpus;
  std::vector<PhysicalDeviceInfo> gpus;
  for (Backend* backend : registered_backends()) {
    for (PhysicalDeviceInfo& info : backend->enumerate()) (info.type == "CPU" ? cpus : gpus).push_back(std::move(info));
  }
  apply_visible_list(gpus);
  std::vector<PhysicalDeviceInfo> all;
  for (auto* group : {&cpus, &gpus}) {
    for (unsigned i = 0; i < group->size(); ++i) {
      (*group)[i].index = i;
      all.push_back((*group)[i]);
    }
  }
  return config.physical.emplace(std::move(all));
}

const PhysicalDeviceInfo& checked_device(Configuration& config, const PhysicalDevice& device, Site site) {
  const auto& all = physical_devices(config);
  const auto found = std::find_if(all.begin(), all.end(), [&](const PhysicalDeviceInfo& info) {
    return info.type == device.type && info.index == device.index;
  });
  if (found != all.end()) return *found;
  throw InvalidArgument(text("Unrecognized device: ", printable(device.name()), "; take one from list_physical_devices()"), site);
}

[[noreturn]] void refuse_change(const char* what, const char* call, Site site) {
  throw ConfigurationFrozen(text(what, " cannot be modified after being initialized; the runtime was initialised at ",
                                 runtime_if_initialised()->initialised_at().to_string(), ": call ", call, " before that"),
                            site);
}

bool is_visible(const Configuration& config, const PhysicalDeviceInfo& info) {
  const auto listed = config.visible.find(info.type);
  if (listed == config.visible.end()) return true;
  return std::find(listed->second.begin(), listed->second.end(), PhysicalDevice{info.type, info.index}) != listed->second.end();
}

std::vector<PhysicalDevice> visible_of(Configuration& config, const std::string& type) {
  std::vector<PhysicalDevice> out;
  for (const PhysicalDeviceInfo& info : physical_devices(config)) {
    if ((type.empty() || info.type == type) && is_visible(config, info)) out.push_back({info.type, info.index});
  }
  return out;
}

std::vector<LogicalDeviceConfiguration> logical_of(const Configuration& config, const PhysicalDevice& device) {
  const auto found = config.logical.find(key_of(device));
  return found != config.logical.end() ? found->second : std::vector<LogicalDeviceConfiguration>(1);
}

bool growth_of(const Configuration& config, const PhysicalDevice& device) {
  const auto found = config.growth.find(key_of(device));
  const bool wanted = found == config.growth.end() || found->second;
  const std::optional<bool> forced = first_bool("TUTTI_FORCE_GPU_ALLOW_GROWTH", "TF_FORCE_GPU_ALLOW_GROWTH");
  return forced.value_or(wanted);
}

}  // namespace

std::string PhysicalDevice::name() const { return text("/physical_device:", type, ":", index); }

std::vector<PhysicalDevice> list_physical_devices(std::string_view type, Site site) {
  const std::string wanted = checked_type(type, site);
  const std::lock_guard lock(configuration().mutex);
  std::vector<PhysicalDevice> out;
  for (const PhysicalDeviceInfo& info : physical_devices(configuration())) {
    if (wanted.empty() || info.type == wanted) out.push_back({info.type, info.index});
  }
  return out;
}

DeviceDetails get_device_details(const PhysicalDevice& device, Site site) {
  const std::lock_guard lock(configuration().mutex);
  const PhysicalDeviceInfo& info = checked_device(configuration(), device, site);
  DeviceDetails out{info.name, to_string(info.backend), info.memory_bytes, std::nullopt, info.driver};
  if (info.compute_major > 0) out.compute_capability = {info.compute_major, info.compute_minor};
  return out;
}

std::vector<std::string> missing_devices(Site) {
  const std::lock_guard lock(configuration().mutex);
  (void)physical_devices(configuration());  // decides what is simulated
  std::vector<std::string> out;
  for (const Backend* backend : registered_backends()) {
    if (std::string why = backend->why_none(); !why.empty()) out.push_back(std::move(why));
  }
  return out;
}

void set_visible_devices(const std::vector<PhysicalDevice>& devices, std::string_view type, Site site) {
  const std::string wanted = checked_type(type, site);
  Configuration& config = configuration();
  const std::lock_guard lock(config.mutex);
  std::map<std::string, std::vector<PhysicalDevice>> next = config.visible;
  for (const char* each : {"CPU", "GPU"}) {
    if (wanted.empty() || wanted == each) next[each].clear();
  }
  for (const PhysicalDevice& device : devices) {
    checked_device(config, device, site);
    if (!wanted.empty() && device.type != wanted) {
      throw InvalidArgument(text(device.name(), " is not a ", wanted, "; leave the type out to set every type at once"), site);
    }
    next[device.type].push_back(device);
  }
  if (next.contains("CPU") && next["CPU"].empty()) {
    throw InvalidArgument(
        "the CPU cannot be made invisible: the host stages data for the other devices there; pass a type ('GPU') or name the CPU "
        "too",
        site);
  }
  const std::vector<PhysicalDevice> before = visible_of(config, {});
  auto previous = std::exchange(config.visible, std::move(next));
  if (runtime_if_initialised() == nullptr || visible_of(config, {}) == before) return;
  config.visible = std::move(previous);
  refuse_change("Visible devices", "set_visible_devices", site);
}

void set_visible_devices(std::initializer_list<PhysicalDevice> devices, std::string_view type, Site site) {
  set_visible_devices(std::vector<PhysicalDevice>(devices), type, site);
}

void set_visible_devices(const PhysicalDevice& device, std::string_view type, Site site) {
  set_visible_devices(std::vector{device}, type, site);
}

std::vector<PhysicalDevice> get_visible_devices(std::string_view type, Site site) {
  const std::string wanted = checked_type(type, site);
  const std::lock_guard lock(configuration().mutex);
  return visible_of(configuration(), wanted);
}

void set_memory_growth(const PhysicalDevice& gpu, bool grow, Site site) {
  Configuration& config = configuration();
  const std::lock_guard lock(config.mutex);
  if (checked_device(config, gpu, site).type != "GPU") {
    throw InvalidArgument(
        text("Cannot set memory growth on non-GPU and non-Pluggable devices; ", gpu.name(), " grows as it needs"), site);
  }
  if (runtime_if_initialised() != nullptr && growth_of(config, gpu) != grow)
    refuse_change("Physical devices", "set_memory_growth", site);
  config.growth[key_of(gpu)] = grow;
  if (growth_of(config, gpu) != grow) {
    log(LogLevel::warning, text("set_memory_growth(", gpu.name(), ", ", grow, ") at ", site.to_string(),
                                " has no effect: TF_FORCE_GPU_ALLOW_GROWTH or TUTTI_FORCE_GPU_ALLOW_GROWTH overrides it"));
  }
}

bool get_memory_growth(const PhysicalDevice& gpu, Site site) {
  const std::lock_guard lock(configuration().mutex);
  checked_device(configuration(), gpu, site);
  return growth_of(configuration(), gpu);
}

void set_logical_device_configuration(const PhysicalDevice& device, const std::vector<LogicalDeviceConfiguration>& logical,
                                      Site site) {
  Configuration& config = configuration();
  const std::lock_guard lock(config.mutex);
  const PhysicalDeviceInfo& info = checked_device(config, device, site);
  if (logical.empty())
    throw InvalidArgument(
        text("set_logical_device_configuration got no logical device for ", device.name(), "; give at least one"), site);
  std::uint64_t sum = 0;
  for (const LogicalDeviceConfiguration& each : logical) {
    if (each.memory_limit == 0 && logical.size() > 1 && info.type == "GPU") {
      throw InvalidArgument(text("Setting memory limit is required for GPU virtual devices: ", device.name(),
                                 " is to be split into ", logical.size(), " and one has none"),
                            site);
    }
    if (__builtin_add_overflow(sum, each.memory_limit, &sum) || sum > info.memory_bytes) {
      throw InvalidArgument(text("the memory limits for ", device.name(), " add up to more than the ",
                                 human_bytes(info.memory_bytes), " it has; lower them"),
                            site);
    }
  }
  if (runtime_if_initialised() != nullptr && !(logical_of(config, device) == logical)) {
    refuse_change("Virtual devices", "set_logical_device_configuration", site);
  }
  config.logical[key_of(device)] = logical;
}

std::vector<LogicalDeviceConfiguration> get_logical_device_configuration(const PhysicalDevice& device, Site site) {
  const std::lock_guard lock(configuration().mutex);
  checked_device(configuration(), device, site);
  return logical_of(configuration(), device);
}

void simulate_gpus(unsigned count, const SimulationOptions& options, Site site) {
  if (count > 64) throw InvalidArgument(text(count, " simulated GPUs were asked for; the most is 64"), site);
  if (options.workers == 0 || options.workers > 64)
    throw InvalidArgument(text("a simulated GPU has 1 to 64 workers; ", options.workers, " were asked for"), site);
  if (options.memory_bytes < least_simulated_bytes)
    throw InvalidArgument(text("a simulated GPU needs at least 2 MiB of memory; ", options.memory_bytes, " bytes were asked for"),
                          site);
  Configuration& config = configuration();
  const std::lock_guard lock(config.mutex);
  const Simulation wanted{count, options};
  if (runtime_if_initialised() != nullptr) {
    if (!(simulation() == wanted)) refuse_change("Physical devices", "simulate_gpus", site);
    return;
  }
  set_simulation(wanted);
  config.simulation_chosen = true;
  config.physical.reset();  // looked up anew, with the simulated ones
}

Runtime& detail::initialise_frozen(Site site) {
  Configuration& config = configuration();
  const std::lock_guard lock(config.mutex);
  if (Runtime* there = runtime_if_initialised()) return *there;
  const auto& physical = physical_devices(config);
  std::vector<std::unique_ptr<LogicalDevice>> devices;
  std::map<std::string, unsigned> next_index;
  for (const PhysicalDeviceInfo& info : physical) {
    if (!is_visible(config, info)) continue;
    const PhysicalDevice device{info.type, info.index};
    Backend* backend = *std::find_if(registered_backends().begin(), registered_backends().end(),
                                     [&](const Backend* b) { return b->kind() == info.backend; });
    for (const LogicalDeviceConfiguration& logical : logical_of(config, device)) {
      const unsigned index = next_index[info.type]++;
      const OpenOptions options{DeviceId{static_cast<std::uint32_t>(devices.size())}, canonical_name(info.type, index),
                                logical.memory_limit};
      devices.push_back(std::make_unique<LogicalDevice>(
          backend->open(info, options), index,
          DeviceMemoryOptions{logical.memory_limit, info.type == "CPU" || growth_of(config, device)}));
    }
  }
  guard_against_fork();
  auto* made = new Runtime(std::move(devices), site);  // never destroyed: static objects may use it to the end
  runtime_instance.store(made, std::memory_order_release);
  return *made;
}

std::vector<LogicalDeviceInfo> list_logical_devices(std::string_view type, Site site) {
  const std::string wanted = checked_type(type, site);
  std::vector<LogicalDeviceInfo> out;
  for (LogicalDevice* device : runtime(site).devices()) {
    if (!wanted.empty() && device->type() != wanted) continue;
    out.push_back(
        {text("/device:", device->type(), ":", device->index()), device->type(), device->index(), device->memory().info().limit});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const LogicalDeviceInfo& a, const LogicalDeviceInfo& b) { return a.type < b.type; });
  return out;
}

}  // namespace tutti

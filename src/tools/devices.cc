#include "tools/devices.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/tutti.h"

namespace tutti::tools {

namespace {

struct LogicalRow {
  LogicalDeviceInfo info;
  PhysicalDevice on;
};

// Logical devices are numbered per type in the order of the visible physical ones they are made from.
std::vector<LogicalRow> logical_rows() {
  std::vector<LogicalRow> rows;
  for (const char* type : {"CPU", "GPU"}) {
    std::vector<PhysicalDevice> origins;
    for (const PhysicalDevice& device : get_visible_devices(type)) {
      origins.insert(origins.end(), get_logical_device_configuration(device).size(), device);
    }
    for (const LogicalDeviceInfo& info : list_logical_devices(type)) rows.push_back({info, origins.at(info.index)});
  }
  return rows;
}

std::string short_name(const PhysicalDevice& device) { return text(device.type, ":", device.index); }

void print_text() {
  std::cout << "Physical devices\n";
  print_physical_devices();
  std::cout << "\nLogical devices\n";
  for (const LogicalRow& row : logical_rows()) {
    std::cout << "  " << std::left << std::setw(16) << row.info.name << std::setw(14) << text("on ", short_name(row.on))
              << "memory limit " << human_bytes(row.info.memory_limit) << '\n';
  }
  if (list_physical_devices("GPU").empty()) {
    std::cout << "\n"
              << paragraph(text("No GPU was found", why_no_gpu(), ".")) << "Set TUTTI_SIM_GPUS=4 for four simulated ones.\n";
  }
}

void print_json() {
  using nlohmann::ordered_json;
  ordered_json physical = ordered_json::array();
  const std::vector<PhysicalDevice> visible = get_visible_devices();
  for (const PhysicalDevice& device : list_physical_devices()) {
    const DeviceDetails details = get_device_details(device);
    ordered_json capability = nullptr;
    if (details.compute_capability) capability = {details.compute_capability->first, details.compute_capability->second};
    physical.push_back({{"name", device.name()},
                        {"type", device.type},
                        {"index", device.index},
                        {"device_name", details.device_name},
                        {"backend", details.backend},
                        {"memory_bytes", details.memory_bytes},
                        {"compute_capability", capability},
                        {"driver", details.driver.empty() ? ordered_json(nullptr) : ordered_json(details.driver)},
                        {"visible", std::find(visible.begin(), visible.end(), device) != visible.end()}});
  }
  ordered_json logical = ordered_json::array();
  for (const LogicalRow& row : logical_rows()) {
    logical.push_back({{"name", row.info.name},
                       {"full_name", canonical_name(row.info.type, row.info.index)},
                       {"type", row.info.type},
                       {"index", row.info.index},
                       {"physical", row.on.name()},
                       {"memory_limit_bytes", row.info.memory_limit}});
  }
  const ordered_json all{{"tutti", version()}, {"physical", physical}, {"logical", logical}, {"missing", missing_devices()}};
  // A device's name comes from the system and may hold anything.
  std::cout << all.dump(2, ' ', false, ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace

void print_physical_devices() {
  for (const PhysicalDevice& device : list_physical_devices()) {
    const DeviceDetails details = get_device_details(device);
    std::string kind = details.backend;
    if (details.compute_capability) kind += text(" ", details.compute_capability->first, ".", details.compute_capability->second);
    std::cout << "  " << std::left << std::setw(8) << short_name(device) << std::setw(46) << printable(details.device_name, 45)
              << std::setw(10) << kind << std::right << std::setw(11) << human_bytes(details.memory_bytes) << '\n';
    if (!details.driver.empty()) std::cout << "          driver " << printable(details.driver, 60) << '\n';
  }
}

std::string why_no_gpu() {
  std::string out;
  for (const std::string& why : missing_devices()) out += text(out.empty() ? ": " : "; ", printable(why));
  return out;
}

void print_devices(bool as_json) { as_json ? print_json() : print_text(); }

}  // namespace tutti::tools

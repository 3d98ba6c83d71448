// Any bytes either parse to a spec that prints and parses to itself, or throw InvalidDeviceName with a short message.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tutti/base/error.h"
#include "tutti/place/device_name.h"
#include "tutti/place/device_name_repair.h"

namespace {

void require(bool promise) {
  if (!promise) __builtin_trap();
}

void check(std::string_view name) {
  using namespace tutti;
  try {
    const DeviceSpec spec = parse_device_name(name);
    require(spec.type.has_value() || !spec.index.has_value());
    require(parse_device_name(to_string(spec)) == spec);
    require(merge(spec, {}) == spec && merge({}, spec) == spec && merge(spec, spec) == spec);
  } catch (const InvalidDeviceName& error) {
    require(std::strlen(error.what()) < 2000);
    require(try_parse_device_name(nearest_device_name(name)).fault.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}

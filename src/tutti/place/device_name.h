// Device names: one grammar, one parser, and how the names of nested scopes merge.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tutti/base/site.h"

namespace tutti {

// What a name says; a field it leaves out, or gives as '*', means "any". An index never stands without a type.
struct DeviceSpec {
  std::optional<std::string> job;
  std::optional<unsigned> replica;
  std::optional<unsigned> task;
  std::optional<std::string> type;  // upper case: "CPU", "GPU", ...; "cuda" is an alias of "GPU"
  std::optional<unsigned> index;

  friend bool operator==(const DeviceSpec&, const DeviceSpec&) = default;
};

// Longer names are refused.
inline constexpr std::size_t longest_device_name = 1024;

// "/job:localhost/replica:0/task:0/device:GPU:0", "/GPU:0", "gpu:0", "cuda:1", "GPU", parts in any order; "" sets nothing.
// Types other than CPU, GPU, TPU and cuda need "/device:". Throws InvalidDeviceName that says where and what was meant.
DeviceSpec parse_device_name(std::string_view name, Site site = {});

// Only the fields it has, in canonical order: "/job:localhost/device:GPU:0".
std::string to_string(const DeviceSpec& spec);

// Field by field, the inner wins. An index is not carried across a change of type: CPU inside GPU:1 is any CPU.
DeviceSpec merge(const DeviceSpec& outer, const DeviceSpec& inner);

// "/job:localhost/replica:0/task:0/device:GPU:0": the full name of a device of this process.
std::string canonical_name(std::string_view type, unsigned index);

}  // namespace tutti

// What the writer of a bad device name probably meant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tutti/place/device_name.h"

namespace tutti {

// The parser's answer without an exception: an empty fault means that the spec holds.
struct ParsedName {
  DeviceSpec spec;
  std::string fault;  // "index expected"
  std::size_t position = 0;
};
ParsedName try_parse_device_name(std::string_view name);

// A name that parses and is close to `name`, spelled in the same form; empty where nothing is close.
std::string nearest_device_name(std::string_view name);

}  // namespace tutti

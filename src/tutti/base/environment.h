// Typed reading of environment variables: one that cannot be parsed is reported once, never ignored in silence.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tutti {

inline constexpr std::uint64_t no_upper_bound = std::numeric_limits<std::uint64_t>::max();

// A device by number or by the beginning of its UUID ("GPU-8932f937...", "MIG-...").
using ListedDevice = std::variant<unsigned, std::string>;
using DeviceList = std::vector<ListedDevice>;

// The parsers alone. Spaces around a value do not matter; nothing: the text is not such a value.
std::optional<bool> parse_bool(std::string_view text);
std::optional<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t lowest = 0,
                                            std::uint64_t highest = no_upper_bound);
// "512MiB", "2GB", "1.5g", "4096". KB, MB, GB, TB are powers of 1000; K or KiB, M or MiB, ... powers of 1024.
std::optional<std::uint64_t> parse_bytes(std::string_view text);
// Like CUDA_VISIBLE_DEVICES: "0,2", "" for no device, a negative number ends the list. No device may be there twice.
std::optional<DeviceList> parse_device_list(std::string_view text);

// Nothing: the variable is not set, or was reported (once per process and variable) and is ignored.
std::optional<bool> environment_bool(const char* variable);
std::optional<std::uint64_t> environment_unsigned(const char* variable, std::uint64_t lowest = 0,
                                                  std::uint64_t highest = no_upper_bound);
std::optional<std::uint64_t> environment_bytes(const char* variable);
std::optional<std::chrono::milliseconds> environment_duration(const char* variable);
std::optional<DeviceList> environment_device_list(const char* variable);
// As it stands; an empty one counts as not set.
std::optional<std::string> environment_text(const char* variable);

}  // namespace tutti

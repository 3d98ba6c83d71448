// Any bytes either are such a value, and then a canonical print of it is the same value, or are not one; never a crash.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "tutti/base/environment.h"
#include "tutti/base/text.h"

namespace {

void require(bool promise) {
  if (!promise) __builtin_trap();
}

std::string print(const tutti::DeviceList& list) {
  std::string out;
  for (const tutti::ListedDevice& device : list) {
    if (!out.empty()) out += ',';
    std::visit([&out](const auto& entry) { out += tutti::text(entry); }, device);
  }
  return out;
}

void check(std::string_view value) {
  using namespace tutti;
  if (const auto word = parse_bool(value)) require(parse_bool(*word ? "true" : "false") == word);
  if (const auto number = parse_unsigned(value)) {
    require(parse_unsigned(std::to_string(*number)) == number);
    require(parse_bytes(value) == number);
  }
  if (const auto number = parse_unsigned(value, 3, 99)) require(*number >= 3 && *number <= 99);
  if (const auto bytes = parse_bytes(value)) require(parse_bytes(std::to_string(*bytes)) == bytes);
  if (const auto list = parse_device_list(value)) require(parse_device_list(print(*list)) == list);
  require(printable(value).size() < 600);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}

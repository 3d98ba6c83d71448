// Any bytes either parse to a mesh or a layout that prints and parses to itself, or throw InvalidArgument with a short message.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tutti/base/error.h"
#include "tutti/mesh/mesh_text.h"

namespace {

void require(bool promise) {
  if (!promise) __builtin_trap();
}

template <class Parse>
void check(std::string_view text, Parse&& parse) {
  using namespace tutti;
  try {
    const auto parsed = parse(text);
    require(parse(to_string(parsed)) == parsed);
  } catch (const InvalidArgument& error) {
    require(std::strlen(error.what()) < 2000);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text, [](std::string_view each) { return tutti::parse_mesh_text(each); });
  check(text, [](std::string_view each) { return tutti::parse_layout_text(each); });
  return 0;
}

#include "tutti/base/human_time.h"

#include <array>
#include <cstdio>

#include "tutti/base/text.h"

namespace tutti {

std::string human_time(Nanoseconds time) {
  struct Unit {
    double nanoseconds;
    const char* name;
  };
  static constexpr std::array<Unit, 3> units{{{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}}};
  const auto value = static_cast<double>(time);
  for (const Unit& unit : units) {
    if (value < unit.nanoseconds) continue;
    std::array<char, 32> out{};
    const double scaled = value / unit.nanoseconds;
    std::snprintf(out.data(), out.size(), "%.*f %s", scaled < 10 ? 2 : 1, scaled, unit.name);
    return out.data();
  }
  return text(time, " ns");
}

}  // namespace tutti

// Lengths of time as people write them: "5s", "500ms", "2m".
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace tutti {

// ms, s, m (or min), h; "1.5s" too, to the millisecond. Nothing: the text is no such length, has no unit, or is longer than a
// year.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace tutti

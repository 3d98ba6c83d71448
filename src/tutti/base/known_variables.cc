#include "tutti/base/known_variables.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "tutti/base/edit_distance.h"
#include "tutti/base/log.h"
#include "tutti/base/rank_files.h"
#include "tutti/base/text.h"

namespace tutti {

namespace {

constexpr std::string_view prefix = "TUTTI_";
constexpr std::string_view of_tests = "TUTTI_TEST_";
constexpr std::size_t most_name = 64;  // of what may be any text

std::string_view nearest(std::string_view name) {
  const std::string_view typed = name.substr(prefix.size(), most_name);
  return *std::ranges::min_element(known_variables, {}, [&](std::string_view known) {
    known.remove_prefix(prefix.size());
    return known.find(typed) != std::string_view::npos ? 1 : edit_distance(typed, known);
  });
}

}  // namespace

void report_unknown_variables() {
  static constinit std::atomic<bool> is_told{false};
  if (is_told.exchange(true) || rank_of_files().value_or(0) != 0) return;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with(prefix) || name.starts_with(of_tests) || std::ranges::count(known_variables, name) != 0) continue;
    log(LogLevel::warning,
        text(printable(name, most_name), " is not a variable of tutti's and is ignored; the nearest one is ", nearest(name)));
  }
}

}  // namespace tutti

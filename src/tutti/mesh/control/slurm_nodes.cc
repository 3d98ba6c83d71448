#include "tutti/mesh/control/slurm_nodes.h"

#include <algorithm>

#include "tutti/base/text.h"

namespace tutti {

namespace {

bool is_part_of_a_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
}

// "01-03,7": the first number as it is written, zeros in front included.
std::optional<std::string_view> first_number(std::string_view ranges) {
  const auto* const stop = std::ranges::find_if_not(ranges, is_digit);
  const auto digits = static_cast<std::size_t>(stop - ranges.begin());
  const bool ends_well = digits == ranges.size() || ranges[digits] == '-' || ranges[digits] == ',';
  const bool holds_only_ranges = std::ranges::all_of(ranges, [](char c) { return is_digit(c) || c == '-' || c == ','; });
  if (digits == 0 || !ends_well || !holds_only_ranges) return std::nullopt;
  return ranges.substr(0, digits);
}

}  // namespace

std::optional<std::string> first_slurm_node(std::string_view list) {
  static constexpr std::size_t longest_name = 253;
  std::string name;
  std::size_t at = 0;
  while (at < list.size() && list[at] != ',') {
    if (list[at] == '[') {
      const std::size_t close = list.find(']', at);
      if (close == std::string_view::npos) return std::nullopt;
      const auto number = first_number(list.substr(at + 1, close - at - 1));
      if (!number) return std::nullopt;
      name += *number;
      at = close + 1;
    } else {
      if (!is_part_of_a_name(list[at])) return std::nullopt;
      name += list[at++];
    }
  }
  if (name.empty() || name.front() == '-' || name.size() > longest_name) return std::nullopt;
  return name;
}

}  // namespace tutti

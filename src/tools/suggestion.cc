#include "tools/suggestion.h"

#include <algorithm>
#include <utility>

#include "tutti/base/edit_distance.h"

namespace tutti::tools {

std::vector<std::string> nearest(std::string_view typed, const std::vector<std::string>& candidates, std::size_t most) {
  const std::size_t too_far = std::max<std::size_t>(2, typed.size() / 3) + 1;  // another word
  std::vector<std::pair<std::size_t, std::string>> close;
  for (const std::string& candidate : candidates) {
    std::size_t far = edit_distance(typed.substr(0, 64), candidate);
    if (typed.size() >= 2 && candidate.starts_with(typed)) far = 1;
    if (typed.size() >= 4 && candidate.find(typed) != std::string::npos) far = std::min<std::size_t>(far, 2);
    if (far < too_far) close.emplace_back(far, candidate);
  }
  std::stable_sort(close.begin(), close.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (auto& [far, candidate] : close) {
    if (out.size() == most) break;
    out.push_back(std::move(candidate));
  }
  return out;
}

}  // namespace tutti::tools

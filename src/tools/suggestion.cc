#include "tools/suggestion.h"

#include <algorithm>

#include "tutti/base/edit_distance.h"

namespace tutti::tools {

std::string nearest(std::string_view typed, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, typed.size() / 3) + 1;  // further away is another word
  for (const std::string& candidate : candidates) {
    const bool is_beginning = typed.size() >= 2 && candidate.starts_with(typed);
    const std::size_t far = is_beginning ? 1 : edit_distance(typed.substr(0, 64), candidate);
    if (far >= least) continue;
    least = far;
    best = candidate;
  }
  return best;
}

}  // namespace tutti::tools

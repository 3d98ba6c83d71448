#include "tools/suggestion.h"

#include <algorithm>
#include <numeric>

namespace tutti::tools {

namespace {

// Insertions, deletions and replacements between the two.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest(std::string_view typed, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, typed.size() / 3) + 1;  // further away is another word
  for (const std::string& candidate : candidates) {
    const bool is_beginning = typed.size() >= 2 && candidate.starts_with(typed);
    const std::size_t far = is_beginning ? 1 : distance(typed.substr(0, 64), candidate);
    if (far >= least) continue;
    least = far;
    best = candidate;
  }
  return best;
}

}  // namespace tutti::tools

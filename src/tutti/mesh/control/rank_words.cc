#include "tutti/mesh/control/rank_words.h"

#include "tutti/base/text.h"

namespace tutti::control {

std::string in_words(const std::vector<int>& ranks, std::size_t most_runs) {
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t runs = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    if (runs++ == most_runs) return text(out, " and ", ranks.size() - i, " more");
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (i != 0) out += ", ";
    out += last == i ? text(ranks[i]) : text(ranks[i], last == i + 1 ? ", " : "-", ranks[last]);
    i = last + 1;
  }
  return out;
}

std::string place_in_words(const std::string& what, const std::string& group, const std::string& site) {
  return text(printable(what, 200), " of ", printable(group, 200), site.empty() ? "" : " at ", printable(site, 200));
}

}  // namespace tutti::control

// Ranks as people write them.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace tutti::control {

// "rank 3", "ranks 0-2, 5"; `ranks` ascend. After `most_runs` of them: "ranks 0-2, 5 and 1000 more".
std::string in_words(const std::vector<int>& ranks, std::size_t most_runs = std::numeric_limits<std::size_t>::max());

// "barrier 'x' of world at train.cc:31"
std::string place_in_words(const std::string& what, const std::string& group, const std::string& site);

}  // namespace tutti::control

// Ranks as people write them.
#pragma once

#include <string>
#include <vector>

namespace tutti::control {

// "rank 3", "ranks 0-2, 5"; `ranks` ascend.
std::string in_words(const std::vector<int>& ranks);

// "barrier 'x' of world at train.cc:31"
std::string place_in_words(const std::string& what, const std::string& group, const std::string& site);

}  // namespace tutti::control

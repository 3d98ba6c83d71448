// The words a typing mistake was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

// The closest of the candidates, at most so many, the best first; none when none is close.
std::vector<std::string> nearest(std::string_view typed, const std::vector<std::string>& candidates, std::size_t most = 1);

}  // namespace tutti::tools

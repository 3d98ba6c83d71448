// The word a typing mistake was probably meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti::tools {

// The closest of the candidates; empty when none is close.
std::string nearest(std::string_view typed, const std::vector<std::string>& candidates);

}  // namespace tutti::tools

// How far two words are apart: for "did you mean".
#pragma once

#include <cstddef>
#include <string_view>

namespace tutti {

// Insertions, deletions, replacements and swaps of neighbours, ignoring case. Takes the product of the lengths in time and
// memory: cut untrusted text first.
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace tutti

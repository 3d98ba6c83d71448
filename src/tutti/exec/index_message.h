// What kernels say about indices and counts that do not fit their data, in the same words on every backend.
#pragma once

#include <cstdint>
#include <string>

namespace tutti {

// "index 7 is out of range for axis 0 with size 5"
std::string index_out_of_range(std::int64_t index, std::int64_t axis, std::int64_t size);
// NonZero found another number of elements than CountNonzero did.
std::string changed_since_counted(std::int64_t room, std::int64_t found);
// "a mask with 3 true elements was given values for 2"
std::string mask_does_not_match(std::int64_t room, std::int64_t found);
// "a repeat count of -1 is negative"
std::string negative_repeat(std::int64_t repeat);
// "repeats that add up to 7 were given an output size of 5"
std::string repeats_do_not_match(std::int64_t size, std::int64_t found);

}  // namespace tutti

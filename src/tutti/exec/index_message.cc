#include "tutti/exec/index_message.h"

#include "tutti/base/text.h"

namespace tutti {

std::string index_out_of_range(std::int64_t index, std::int64_t axis, std::int64_t size) {
  return text("index ", index, " is out of range for axis ", axis, " with size ", size);
}

std::string changed_since_counted(std::int64_t room, std::int64_t found) {
  return text("NonZero was given room for ", room, " elements and found ", found, ": the input changed after it was counted");
}

std::string mask_does_not_match(std::int64_t room, std::int64_t found) {
  return text("a mask with ", found, " true elements was given values for ", room);
}

std::string negative_repeat(std::int64_t repeat) { return text("a repeat count of ", repeat, " is negative"); }

std::string repeats_do_not_match(std::int64_t size, std::int64_t found) {
  return text("repeats that add up to ", found, " were given an output size of ", size);
}

}  // namespace tutti

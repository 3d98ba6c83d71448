#include "tutti/exec/index_message.h"

#include "tutti/base/text.h"

namespace tutti {

std::string index_out_of_range(std::int64_t index, std::int64_t axis, std::int64_t size) {
  return text("index ", index, " is out of range for axis ", axis, " with size ", size);
}

std::string changed_since_counted(std::int64_t room, std::int64_t found) {
  return text("NonZero was given room for ", room, " elements and found ", found, ": the input changed after it was counted");
}

}  // namespace tutti

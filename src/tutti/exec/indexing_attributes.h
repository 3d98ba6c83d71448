// The attribute structs of the ops that gather and select.
#pragma once

#include <array>
#include <cstdint>

#include "tutti/tensor/shape.h"

namespace tutti {

// The axes of x are outer ..., those that are indexed (one per index tensor), inner ...; the output has the axes of the index
// tensors in their place.
struct GatherAttributes {
  std::int8_t first = 0;                       // the first indexed axis of x
  std::array<std::int8_t, most_axes> names{};  // of the indexed axes, as the caller counts them
};

// x and the indices have the same sizes but for this axis.
struct AlongAttributes {
  std::int8_t axis = 0;
};

// What happens when the elements found are not as many as there is room for.
enum class Room : std::uint8_t {
  counted,  // a failure: the input was counted before
  given,    // a failure: there are values for so many
  padded,   // too many are left out, too few are followed by the fill; the count is a second output
};

struct NonzeroAttributes {
  std::int64_t count = 0;
  std::int64_t fill = -1;
  Room room = Room::counted;
};

struct MaskedSelectAttributes {
  std::int64_t size = 0;
  Room room = Room::counted;
};

struct RepeatAttributes {
  std::int64_t size = 0;  // of the output
  Room room = Room::counted;
};

}  // namespace tutti

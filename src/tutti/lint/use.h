// What a program does with a value that the host has read: whether it could have come later, or stayed on the device.
#pragma once

#include <cstdint>

#include "tutti/lint/syntax_tree.h"

namespace tutti::lint {

enum class Use : std::uint8_t {
  unknown,
  told,      // only printed, logged, stored or added up
  computes,  // only goes into ops on the device again, or besides is told
  size,      // a shape, a bound of a slice
  decides,   // what the host does
};

struct ValueUse {
  Use use = Use::unknown;
  std::uint32_t line = 0;  // of the use that says so, from 1
};

// Of the value of an expression, followed through names of its function. What a function returns is not followed.
ValueUse use_of(const SyntaxTree& tree, NodeId expression);

}  // namespace tutti::lint

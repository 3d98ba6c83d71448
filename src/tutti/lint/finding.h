// What the linter says about a place in a source, and how sure it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/lint/rule.h"

namespace tutti::lint {

// That the host waits there, where the program has a GPU.
enum class Confidence : std::uint8_t {
  possible,  // it may be a tensor, or may be on a GPU: nothing in the file says
  likely,    // the file says so, by a device chosen when it runs, or by how such code is used
  certain,   // the file says so
};

// How often it runs.
enum class Weight : std::uint8_t { once, sometimes, loop, step };

struct Edit {
  std::uint32_t begin = 0;  // bytes of the source
  std::uint32_t end = 0;
  std::string text;

  bool operator==(const Edit&) const = default;
};

struct Finding {
  RuleId rule{};
  Confidence confidence{};
  Weight weight{};
  std::uint32_t begin = 0;  // bytes of the source
  std::uint32_t end = 0;
  std::uint32_t line = 1;
  std::uint32_t column = 1;  // in characters
  std::uint32_t end_line = 1;
  std::uint32_t end_column = 1;
  std::vector<Edit> fix;  // empty: none that is surely the same
};

std::string_view to_string(Confidence confidence);
std::string_view to_string(Weight weight);  // "in a step"

}  // namespace tutti::lint

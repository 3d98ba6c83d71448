// Lines of elements along the last axes of a dense operand, and how those too long for one block are cut.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tutti/exec/kernel.h"

namespace tutti::kernels::cuda {

struct LineShape {
  std::int64_t lines = 1;
  std::int64_t length = 1;

  explicit LineShape(const Operand& operand, std::size_t axes = 1) noexcept {
    for (std::size_t i = 0; i < operand.rank; ++i) (i + axes < operand.rank ? lines : length) *= operand.axes[i].size;
  }
};

// One line in parts, a block each. The cut depends on nothing but the length.
struct LineParts {
  static constexpr std::int64_t least = 16 * 1024;  // elements; a block reads them twice, the second time from its cache
  static constexpr std::int64_t most = 1024;        // parts: every block that finishes a line joins them

  std::int64_t length;
  std::int64_t count;

  explicit LineParts(std::int64_t line) noexcept
      : length(std::max(least, ((line + most - 1) / most + least - 1) / least * least)), count((line + length - 1) / length) {}
};

}  // namespace tutti::kernels::cuda

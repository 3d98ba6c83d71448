// Which lines an instruction of a Python code object stands for, from the object's own table.
#pragma once

#include <cstdint>
#include <span>

namespace tutti::tracing {

struct PythonPosition {
  std::uint32_t line = 0;  // 0: none
  std::uint32_t end_line = 0;
  std::uint32_t column = 0;  // from 1; 0: not known
  std::uint32_t end_column = 0;
};

// `at`: the instruction's place in bytes. Tables of 3.9, of 3.10, and of 3.11 and later are told apart by `minor`.
PythonPosition python_position(int minor, std::span<const std::uint8_t> table, std::uint32_t first_line,
                               std::int64_t at) noexcept;

}  // namespace tutti::tracing

// What a program called, for errors of what knows no more of an op than its row: a capture, a process that others wait for.
#pragma once

namespace tutti {

// "where" for "SelectV2"; the op's own name where no table knows another. Looks it up: not for hot paths.
const char* function_of(const char* op) noexcept;

namespace detail {
// The op table, which lies above.
using FunctionOf = const char* (*)(const char* op) noexcept;
bool look_up_functions_with(FunctionOf table) noexcept;
}  // namespace detail

}  // namespace tutti

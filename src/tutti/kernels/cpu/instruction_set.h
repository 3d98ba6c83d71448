// Which instruction set the rows use: by default the best one of the machine.
#pragma once

#include <string_view>

namespace tutti::kernels {

// "AVX3" (AVX-512), "AVX2" or "SCALAR". Has to come before the first kernel runs, so it is for tests and for
// comparing machines; false if this machine lacks it.
bool use_instruction_set(std::string_view name);

// The one in use.
std::string_view instruction_set();

}  // namespace tutti::kernels

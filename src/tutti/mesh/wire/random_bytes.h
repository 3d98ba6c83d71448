// Bytes that nobody can guess, from the kernel's generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tutti::wire {

std::string random_bytes(std::size_t count);
std::uint64_t random_number();

}  // namespace tutti::wire

// Ops of the tests' own, with kernels in device_ops.cu: slow ones, so that a missing edge is noticed, and ones that misbehave.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>

#include "tutti/tutti.h"

namespace tutti::testing_cuda {

// Writes -1 everywhere, goes on for that long, and only then writes the value. int64.
Tensor slow_fill(const Shape& shape, std::int64_t value, std::chrono::milliseconds duration, Site site = {});
// Goes on for that long before it reads its input. int64.
Tensor slow_copy(const Tensor& x, std::chrono::milliseconds duration, Site site = {});

enum class Misdeed : std::uint8_t {
  bad_address,       // writes where nothing is mapped
  bad_alignment,     // writes an int64 at an odd address
  trap,              // the instruction of that name
  too_many_threads,  // the launch itself is refused
  throws,            // on the host, before anything is launched
};
inline std::ostream& operator<<(std::ostream& out, Misdeed misdeed) { return out << "misdeed " << static_cast<int>(misdeed); }
// Takes one tensor, gives one like it, and does that on the way.
Tensor misbehave(const Tensor& x, Misdeed misdeed, Site site = {});
inline constexpr const char* misbehaving_op = "TestMisbehave";

// The queue that Stream::native() of the kernel's own stream gives while the kernel is being launched, as an int64 on the host.
std::uint64_t native_stream_seen_by_a_kernel(Site site = {});

}  // namespace tutti::testing_cuda

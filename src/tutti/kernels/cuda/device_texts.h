// The headers of scalar functions as texts, for a compiler at run time; made by device_texts.cmake.
#pragma once

#include <cstdint>
#include <span>

namespace tutti::kernels::cuda {

struct DeviceText {
  const char* name;  // as it is included
  const char* text;
};
std::span<const DeviceText> device_texts() noexcept;
// Another one for other texts.
std::uint64_t hash_of_texts() noexcept;

}  // namespace tutti::kernels::cuda

// When an output is so large that it should be written past the caches.
#pragma once

#include <cstdint>

namespace tutti::kernels {

// A plain store reads the line it writes first; a streaming store does not, but leaves nothing in the cache. It pays when
// what the op reads and writes does not fit there anyway. The size is a common one of a last-level cache: what the system
// reports is the sum over a whole machine, of which a guest may own a small part.
[[nodiscard]] constexpr bool pays_to_stream(std::int64_t bytes_touched) noexcept {
  return bytes_touched >= std::int64_t{32} << 20U;
}

}  // namespace tutti::kernels

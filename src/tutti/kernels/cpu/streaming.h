// When an output is so large that it should be written past the caches.
#pragma once

#include <cstdint>

namespace tutti::kernels {

// A plain store reads the line it writes first; a streaming store does not, but leaves nothing in the cache. Worth it for
// outputs that would not stay there anyway: as large as the last-level cache.
[[nodiscard]] bool pays_to_stream(std::int64_t bytes) noexcept;

}  // namespace tutti::kernels

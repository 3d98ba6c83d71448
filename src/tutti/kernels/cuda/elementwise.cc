#include "tutti/kernels/cuda/elementwise.h"

#include <algorithm>

namespace tutti::kernels::cuda {

Grid grid_for(std::int64_t items, int per_thread, const Queue& queue) noexcept {
  constexpr std::int64_t fewest = 64;
  constexpr std::int64_t most = 256;
  constexpr std::int64_t warp = 32;
  const auto divided_up = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
  const std::int64_t wanted = divided_up(items, std::int64_t{per_thread} * queue.properties().multiprocessors);
  const std::int64_t threads = std::clamp(divided_up(wanted, warp) * warp, fewest, most);
  return {.blocks = dim3(static_cast<unsigned>(divided_up(items, threads * per_thread))),
          .threads = dim3(static_cast<unsigned>(threads))};
}

}  // namespace tutti::kernels::cuda

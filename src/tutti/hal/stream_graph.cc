#include "tutti/hal/stream_graph.h"

#include <array>
#include <atomic>

namespace tutti {

namespace {
constinit std::array<std::atomic<StreamGraphs*>, backend_kinds> registered{};
}

void register_stream_graphs(BackendKind backend, StreamGraphs& graphs) noexcept {
  registered[static_cast<std::size_t>(backend)].store(&graphs, std::memory_order_release);
}

StreamGraphs* stream_graphs(BackendKind backend) noexcept {
  return registered[static_cast<std::size_t>(backend)].load(std::memory_order_acquire);
}

}  // namespace tutti

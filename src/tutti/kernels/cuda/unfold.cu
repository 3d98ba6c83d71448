#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/window.cuh"

namespace tutti::kernels::cuda {

namespace {

// The columns in order: plane, element of the window, place.
template <class U, class Index>
__global__ void unfold_items(const U* x, U* out, Index count, DeviceWindow<Index> window) {
  using Offset = std::make_signed_t<Index>;
  for_each_item(count, [&](Index item) {
    const auto split = [](Index& from, const Divisor<Index>& by) {
      const Index above = by.quotient(from);
      const Index here = from - above * by.divisor();
      from = above;
      return here;
    };
    Index rest = item;
    const Index ox = split(rest, window.x.outputs);
    const Index oy = split(rest, window.y.outputs);
    const Index kx = split(rest, window.x.kernel);
    const Index ky = split(rest, window.y.kernel);
    const Offset at_x = window.x.start(ox) + static_cast<Offset>(kx) * window.x.dilation;
    const Offset at_y = window.y.start(oy) + static_cast<Offset>(ky) * window.y.dilation;
    const bool is_inside = window.x.has(at_x) && window.y.has(at_y);
    const std::int64_t plane = static_cast<std::int64_t>(rest) * (static_cast<std::int64_t>(window.y.size) * window.x.size);
    out[item] = is_inside ? x[plane + at_y * window.x.size + at_x] : U{0};
  });
}

template <class U>
void run_unfold(const KernelCall& call, Queue& queue) {
  const auto window = call.attributes->as<WindowAttributes>();
  const std::int64_t count = call.out().count();
  if (count == 0) return;
  const U* x = device_input(call, 0).as<U>();
  const Grid grid = grid_for(count, window_items, queue);
  if (fits_32_bits(window, count)) {
    launch<unfold_items<U, std::uint32_t>>(queue, call, grid, x, call.out().as<U>(), count, DeviceWindow<std::uint32_t>(window));
  } else {
    launch<unfold_items<U, std::uint64_t>>(queue, call, grid, x, call.out().as<U>(), count, DeviceWindow<std::uint64_t>(window));
  }
}

}  // namespace

static void unfold(const KernelCall& call, KernelContext& context) {
  Queue& queue = queue_of(context);
  switch (size_of(call.in(0).dtype)) {
    case 1: return run_unfold<std::uint8_t>(call, queue);
    case 2: return run_unfold<std::uint16_t>(call, queue);
    case 4: return run_unfold<std::uint32_t>(call, queue);
    default: return run_unfold<std::uint64_t>(call, queue);
  }
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("Unfold", unfold);

}  // namespace tutti::kernels::cuda

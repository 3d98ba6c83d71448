#include <algorithm>
#include <bit>

#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/window.cuh"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

inline constexpr unsigned unfold_threads = 256;

// The columns in order: plane, element of the window, place. `across` threads, a power of two, share a row of places: what an
// element costs is then a look and a store, and the arithmetic of where it lies is the row's.
template <class U, class Index>
__global__ void __launch_bounds__(unfold_threads)
    unfold_rows(const U* __restrict__ x, U* __restrict__ out, Index rows, Index across, DeviceWindow<Index> window) {
  using Offset = std::make_signed_t<Index>;
  const Index places = window.x.outputs.divisor();
  const Index step = static_cast<Index>(gridDim.x) * (unfold_threads / across);
  for (Index row = static_cast<Index>(blockIdx.x) * (unfold_threads / across) + threadIdx.x / across; row < rows; row += step) {
    Index rest = row;
    const auto split = [&rest](const Divisor<Index>& by) {
      const Index above = by.quotient(rest);
      const Index here = rest - above * by.divisor();
      rest = above;
      return here;
    };
    const Index oy = split(window.y.outputs);
    const Offset right = static_cast<Offset>(split(window.x.kernel)) * window.x.dilation;
    const Offset at_y = window.y.start(oy) + static_cast<Offset>(split(window.y.kernel)) * window.y.dilation;
    const bool is_inside = window.y.has(at_y);
    const U* const from = x + (static_cast<std::int64_t>(rest) * window.y.size + (is_inside ? at_y : Offset{0})) * window.x.size;
    U* const to = out + static_cast<std::int64_t>(row) * places;
#pragma unroll 4
    for (Index ox = threadIdx.x % across; ox < places; ox += across) {
      const Offset at_x = window.x.start(ox) + right;
      to[ox] = is_inside && window.x.has(at_x) ? from[at_x] : U{0};
    }
  }
}

template <class U>
void run_unfold(const KernelCall& call, Queue& queue) {
  const auto window = call.attributes->as<WindowAttributes>();
  const std::int64_t count = call.out().count();
  if (count == 0) return;
  const U* x = device_input(call, 0).as<U>();
  const std::int64_t rows = count / window.x.outputs;
  const std::int64_t across =
      std::min<std::int64_t>(32, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(window.x.outputs))));
  const std::int64_t at_once = unfold_threads / across;
  const Grid grid{dim3(static_cast<unsigned>(std::min<std::int64_t>((rows + at_once - 1) / at_once, 1 << 30))),
                  dim3(unfold_threads)};
  if (fits_32_bits(window, count)) {
    launch<unfold_rows<U, std::uint32_t>>(queue, call, grid, x, call.out().as<U>(), rows, across,
                                          DeviceWindow<std::uint32_t>(window));
  } else {
    launch<unfold_rows<U, std::uint64_t>>(queue, call, grid, x, call.out().as<U>(), rows, across,
                                          DeviceWindow<std::uint64_t>(window));
  }
}

}  // namespace

static void unfold(const KernelCall& call, KernelContext& context) {
  Queue& queue = queue_of(context);
  visit_size(size_of(call.in(0).dtype), [&]<class U>(U) { run_unfold<U>(call, queue); });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("Unfold", unfold);

}  // namespace tutti::kernels::cuda

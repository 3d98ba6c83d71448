#include <limits>

#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/math.cuh"
#include "tutti/kernels/cuda/pool_window.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

// The largest element so far; once it is a NaN, none is larger.
template <class T>
struct Most {
  using W = Working<T>;
  W value;

  static __device__ __forceinline__ Most before_any() {
    if constexpr (std::is_integral_v<W>) {
      return {std::numeric_limits<W>::min()};
    } else {
      return {static_cast<W>(-INFINITY)};
    }
  }
  __device__ __forceinline__ void see(W x) { value = x > value || x != x ? x : value; }
  template <class Index>
  __device__ __forceinline__ W finish(const DeviceWindow<Index>&, Index, Index) const {
    return value;
  }
};

template <class T>
struct Mean {
  using W = Working<T>;
  W sum;

  static __device__ __forceinline__ Mean before_any() { return {0}; }
  __device__ __forceinline__ void see(W x) { sum += x; }

  // A window that saw nothing stays 0.
  template <class Index>
  __device__ __forceinline__ W finish(const DeviceWindow<Index>& window, Index oy, Index ox) const {
    const std::int64_t count = elements_counted(window, oy, ox);
    return count > 0 ? sum / static_cast<W>(count) : sum;
  }
};

template <class T, class Seen, class Index>
__global__ void pool_items(const T* x, T* out, Index count, PoolWindow<Index> pool) {
  using Offset = std::make_signed_t<Index>;
  const DeviceWindow<Index>& window = pool.window;
  for_each_item(count, [&](Index item) {
    const PoolPlace<Index> at(item, window.y.outputs, window.x.outputs, pool.pixel);
    const T* image = x + pool.image(at);
    const std::int64_t pixel = pool.pixel.divisor();
    const Offset left = window.x.start(at.x);
    Offset at_y = window.y.start(at.y);
    Seen seen = Seen::before_any();
    for (Index ky = 0; ky < window.y.kernel.divisor(); ++ky, at_y += window.y.dilation) {
      if (!window.y.has(at_y)) continue;
      Offset at_x = left;
      for (Index kx = 0; kx < window.x.kernel.divisor(); ++kx, at_x += window.x.dilation) {
        if (window.x.has(at_x)) seen.see(widen(image[(at_y * window.x.size + at_x) * pixel]));
      }
    }
    out[item] = narrow<T>(seen.finish(window, at.y, at.x));
  });
}

template <class T, class Seen>
void run_pool(const KernelCall& call, Queue& queue) {
  const auto window = call.attributes->as<WindowAttributes>();
  const std::int64_t count = call.out().count();
  if (count == 0) return;
  const T* x = device_input(call, 0).as<T>();
  const std::int64_t pixel = window.channels_last ? call.out().axes[3].size : 1;
  const Grid grid = grid_for(count, window_items, queue);
  if (fits_32_bits(window, count)) {
    launch<pool_items<T, Seen, std::uint32_t>>(queue, call, grid, x, call.out().as<T>(), count,
                                               PoolWindow<std::uint32_t>(window, pixel));
  } else {
    launch<pool_items<T, Seen, std::uint64_t>>(queue, call, grid, x, call.out().as<T>(), count,
                                               PoolWindow<std::uint64_t>(window, pixel));
  }
}

}  // namespace

static void max_pool(const KernelCall& call, KernelContext& context) {
  visit_stored<numeric_dtypes>(call.in(0).dtype, [&]<class T>(T) { run_pool<T, Most<T>>(call, queue_of(context)); });
}

static void avg_pool(const KernelCall& call, KernelContext& context) {
  visit_stored<floating_dtypes>(call.in(0).dtype, [&]<class T>(T) { run_pool<T, Mean<T>>(call, queue_of(context)); });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("MaxPool", max_pool, nullptr, numeric_dtypes) &&
                                                   register_cuda_kernel("AvgPool", avg_pool, nullptr, floating_dtypes);

}  // namespace tutti::kernels::cuda

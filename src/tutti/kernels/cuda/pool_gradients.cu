// The gradients of pooling. A thread has a few elements of the result and looks at every window that saw them: nothing is added
// up in an order that depends on timing.
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/pool_window.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

// Calls visit(output) for the outputs along one axis whose window may see `at`.
template <class Index, class Visit>
__device__ __forceinline__ void for_each_window(const DeviceAxis<Index>& axis, std::make_signed_t<Index> at, const Visit& visit) {
  using Offset = std::make_signed_t<Index>;
  const Offset reach = (static_cast<Offset>(axis.kernel.divisor()) - 1) * axis.dilation;
  const Offset last = (at + axis.padding) / axis.stride;
  const Offset most = static_cast<Offset>(axis.outputs.divisor()) - 1;
  const Offset before = at + axis.padding - reach;  // no window that begins earlier reaches it
  for (Offset output = before <= 0 ? 0 : (before + axis.stride - 1) / axis.stride; output <= (last < most ? last : most);
       ++output) {
    if ((at + axis.padding - output * axis.stride) % axis.dilation == 0) visit(static_cast<Index>(output));
  }
}

// Where the largest element of a window stands, the first of several; a NaN is larger than any.
template <class T, class Index>
__device__ __forceinline__ std::int64_t largest_in(const T* image, const PoolWindow<Index>& pool, Index oy, Index ox) {
  using Offset = std::make_signed_t<Index>;
  const DeviceWindow<Index>& window = pool.window;
  std::int64_t best = -1;
  Working<T> most{};
  Offset at_y = window.y.start(oy);
  for (Index ky = 0; ky < window.y.kernel.divisor(); ++ky, at_y += window.y.dilation) {
    if (!window.y.has(at_y)) continue;
    Offset at_x = window.x.start(ox);
    for (Index kx = 0; kx < window.x.kernel.divisor(); ++kx, at_x += window.x.dilation) {
      if (!window.x.has(at_x)) continue;
      const std::int64_t place = static_cast<std::int64_t>(at_y) * window.x.size + at_x;
      const Working<T> value = widen(image[place * pool.pixel.divisor()]);
      if (best < 0 || value > most || (value != value && most == most)) {
        best = place;
        most = value;
      }
    }
  }
  return best;
}

template <class T, class Index>
__global__ void max_pool_grad_items(const T* x, const T* g, T* out, Index count, PoolWindow<Index> pool) {
  using Offset = std::make_signed_t<Index>;
  for_each_item(count, [&](Index item) {
    const PoolPlace<Index> at(item, pool.height, pool.width, pool.pixel);
    const T* const image = x + pool.image(at);
    const T* const outputs = g + pool.output(at);
    const std::int64_t own = static_cast<std::int64_t>(at.y) * pool.window.x.size + at.x;
    Working<T> sum = 0;
    for_each_window(pool.window.y, static_cast<Offset>(at.y), [&](Index oy) {
      for_each_window(pool.window.x, static_cast<Offset>(at.x), [&](Index ox) {
        if (largest_in(image, pool, oy, ox) == own) sum += widen(outputs[pool.place(oy, ox)]);
      });
    });
    out[item] = narrow<T>(sum);
  });
}

template <class T, class Index>
__global__ void max_pool_picked_items(const T* x, const T* other, T* out, Index count, PoolWindow<Index> pool) {
  for_each_item(count, [&](Index item) {
    const PoolPlace<Index> at(item, pool.window.y.outputs, pool.window.x.outputs, pool.pixel);
    const std::int64_t place = largest_in(x + pool.image(at), pool, at.y, at.x);
    out[item] = place < 0 ? narrow<T>(0) : other[pool.image(at) + place * pool.pixel.divisor()];
  });
}

template <class T, class Index>
__global__ void avg_pool_grad_items(const T*, const T* g, T* out, Index count, PoolWindow<Index> pool) {
  using Offset = std::make_signed_t<Index>;
  for_each_item(count, [&](Index item) {
    const PoolPlace<Index> at(item, pool.height, pool.width, pool.pixel);
    const T* const outputs = g + pool.output(at);
    Working<T> sum = 0;
    for_each_window(pool.window.y, static_cast<Offset>(at.y), [&](Index oy) {
      for_each_window(pool.window.x, static_cast<Offset>(at.x), [&](Index ox) {
        const std::int64_t counted = elements_counted(pool.window, oy, ox);
        if (counted > 0) sum += widen(outputs[pool.place(oy, ox)]) / static_cast<Working<T>>(counted);
      });
    });
    out[item] = narrow<T>(sum);
  });
}

enum class Gradient : std::uint8_t { max, max_picked, avg };

template <Gradient which, class T, class Index>
constexpr auto kernel_of() {
  if constexpr (which == Gradient::max) {
    return max_pool_grad_items<T, Index>;
  } else if constexpr (which == Gradient::max_picked) {
    return max_pool_picked_items<T, Index>;
  } else {
    return avg_pool_grad_items<T, Index>;
  }
}

template <Gradient which>
void pool_gradient(const KernelCall& call, KernelContext& context) {
  const auto window = call.attributes->as<WindowAttributes>();
  const Operand& out = call.out();
  const std::int64_t count = out.count();
  if (count == 0) return;
  const std::int64_t pixel = window.channels_last ? out.axes[3].size : 1;
  Queue& queue = queue_of(context);
  const Grid grid = grid_for(count, window_items, queue);
  visit_stored<floating_dtypes>(out.dtype, [&]<class T>(T) {
    const T* const first = device_input(call, 0).as<T>();
    const T* const last = device_input(call, call.inputs - 1U).as<T>();
    if (fits_32_bits(window, count)) {
      launch<kernel_of<which, T, std::uint32_t>()>(queue, call, grid, first, last, out.as<T>(), count,
                                                   PoolWindow<std::uint32_t>(window, pixel));
    } else {
      launch<kernel_of<which, T, std::uint64_t>()>(queue, call, grid, first, last, out.as<T>(), count,
                                                   PoolWindow<std::uint64_t>(window, pixel));
    }
  });
}

}  // namespace

[[maybe_unused]] static const bool is_registered =
    register_cuda_kernel("MaxPoolGrad", pool_gradient<Gradient::max>, nullptr, floating_dtypes) &&
    register_cuda_kernel("MaxPoolGradGrad", pool_gradient<Gradient::max_picked>, nullptr, floating_dtypes) &&
    register_cuda_kernel("AvgPoolGrad", pool_gradient<Gradient::avg>, nullptr, floating_dtypes);

}  // namespace tutti::kernels::cuda

#include "tutti/kernels/cuda/columns.h"

#include <algorithm>
#include <bit>

#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/registration.h"
#include "tutti/kernels/cuda/stored.cuh"
#include "tutti/kernels/cuda/window.cuh"

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
void run_unfold(const U* x, U* out, const WindowAttributes& window, std::int64_t planes, Queue& queue, const KernelCall& call) {
  const std::int64_t rows = planes * window.y.kernel * window.x.kernel * window.y.outputs;
  if (rows * window.x.outputs == 0) return;
  const std::int64_t across =
      std::min<std::int64_t>(32, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(window.x.outputs))));
  const std::int64_t at_once = unfold_threads / across;
  const Grid grid{dim3(static_cast<unsigned>(std::min<std::int64_t>((rows + at_once - 1) / at_once, 1 << 30))),
                  dim3(unfold_threads)};
  if (fits_32_bits(window, rows * window.x.outputs)) {
    launch<unfold_rows<U, std::uint32_t>>(queue, call, grid, x, out, rows, across, DeviceWindow<std::uint32_t>(window));
  } else {
    launch<unfold_rows<U, std::uint64_t>>(queue, call, grid, x, out, rows, across, DeviceWindow<std::uint64_t>(window));
  }
}

// A thread has a few elements of the images, and looks at every window that saw them.
template <class T>
__global__ void fold_items(const T* columns, T* out, std::int64_t count, WindowAttributes window) {
  for_each_item(static_cast<std::uint64_t>(count), [&](std::uint64_t item) {
    const auto [y, x, include_pad, channels_last] = window;
    const std::int64_t at = static_cast<std::int64_t>(item);
    const std::int64_t column = at % x.size + x.padding;
    const std::int64_t row = at / x.size % y.size + y.padding;
    const T* const plane = columns + at / (x.size * y.size) * (y.kernel * x.kernel * y.outputs * x.outputs);
    Working<T> sum = 0;
    for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
      const std::int64_t down = row - ky * y.dilation;
      if (down < 0 || down % y.stride != 0 || down / y.stride >= y.outputs) continue;
      for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
        const std::int64_t right = column - kx * x.dilation;
        if (right < 0 || right % x.stride != 0 || right / x.stride >= x.outputs) continue;
        sum += widen(plane[((ky * x.kernel + kx) * y.outputs + down / y.stride) * x.outputs + right / x.stride]);
      }
    }
    out[item] = narrow<T>(sum);
  });
}

template <class T>
__global__ void add_part_items(const T* parts, std::int64_t count, T* out, std::int64_t size, bool is_first) {
  for_each_item(static_cast<std::uint64_t>(size), [&](std::uint64_t item) {
    double sum = is_first ? 0 : static_cast<double>(widen(out[item]));
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(widen(parts[i * size + static_cast<std::int64_t>(item)]));
    out[item] = narrow<T>(static_cast<Working<T>>(sum));
  });
}

}  // namespace

void unfold(const std::byte* images, std::byte* columns, const WindowAttributes& window, std::int64_t planes, DType dtype,
            Queue& queue, const KernelCall& call) {
  visit_size(size_of(dtype), [&]<class U>(U) {
    run_unfold(reinterpret_cast<const U*>(images), reinterpret_cast<U*>(columns), window, planes, queue, call);
  });
}

void fold(const std::byte* columns, std::byte* images, const WindowAttributes& window, std::int64_t planes, DType dtype,
          Queue& queue, const KernelCall& call) {
  const std::int64_t count = planes * window.y.size * window.x.size;
  if (count == 0) return;
  visit_stored<floating_dtypes>(dtype, [&]<class T>(T) {
    launch<fold_items<T>>(queue, call, grid_for(count, window_items, queue), reinterpret_cast<const T*>(columns),
                          reinterpret_cast<T*>(images), count, window);
  });
}

void add_parts(const std::byte* parts, std::int64_t count, std::byte* out, std::int64_t size, bool is_first, DType dtype,
               Queue& queue, const KernelCall& call) {
  visit_stored<floating_dtypes>(dtype, [&]<class T>(T) {
    launch<add_part_items<T>>(queue, call, grid_for(size, window_items, queue), reinterpret_cast<const T*>(parts), count,
                              reinterpret_cast<T*>(out), size, is_first);
  });
}

static void unfold_call(const KernelCall& call, KernelContext& context) {
  const Operand& images = device_input(call, 0);
  unfold(images.data, call.out().data, call.attributes->as<WindowAttributes>(), images.axes[0].size * images.axes[1].size,
         images.dtype, queue_of(context), call);
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("Unfold", unfold_call);

}  // namespace tutti::kernels::cuda

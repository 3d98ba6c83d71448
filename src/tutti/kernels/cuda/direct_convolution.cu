// Images and kernels to images, without columns in between: a thread has a few places of the output in a few channels, and reads
// the images as they are. What neighbours read is in the cache; the kernels are in shared memory.
#include "tutti/kernels/cuda/direct_convolution.h"

#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/window.cuh"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels::cuda {

namespace {

inline constexpr int convolution_threads = 128;
inline constexpr int kept_taps = 288;  // elements of a kernel that are in shared memory at once: of 3 x 3, 32 channels
inline constexpr int usual_side = 3;

template <class T, class Index>
struct ConvolutionTask {
  const T* x;
  const T* weight;
  T* out;
  Index places;  // of all images
  DeviceWindow<Index> window;
  std::int64_t groups;
  std::int64_t channels_in;  // of a group
  std::int64_t channels_out;
};

// Of one place.
template <class Index>
struct Place {
  using Offset = std::make_signed_t<Index>;
  std::int64_t image;
  Index within;  // the image's places
  Offset top;    // where its window begins
  Offset left;
  __device__ __forceinline__ Place(Index place, const DeviceWindow<Index>& window) {
    const Index line = window.x.outputs.quotient(place);
    const Index at = window.y.outputs.quotient(line);
    const Index row = line - at * window.y.outputs.divisor();
    const Index column = place - line * window.x.outputs.divisor();
    image = static_cast<std::int64_t>(at);
    within = row * window.x.outputs.divisor() + column;
    top = window.y.start(row);
    left = window.x.start(column);
  }
};

// Elements `first` to `first + count` of the kernels of `channels` channels, contiguous; 0 for those that are not there.
template <class T, int channels, int line>
__device__ __forceinline__ void take_weights(T (&to)[kept_taps][line], const T* weight, std::int64_t taps, std::int64_t first,
                                             int count, std::int64_t there) {
  __syncthreads();  // those before are done with
  for (int i = static_cast<int>(threadIdx.x); i < count * channels; i += convolution_threads) {
    const int channel = i / count;
    const int tap = i - channel * count;
    to[tap][channel] = channel < there ? weight[channel * taps + first + tap] : T{0};
  }
  __syncthreads();
}

template <int channels, class T, int places, int line>
__device__ __forceinline__ void take_in(T (&sum)[places][channels], const T (&seen)[places], const T (&weight)[line]) {
#pragma unroll
  for (int c = 0; c < channels; ++c) {
#pragma unroll
    for (int u = 0; u < places; ++u) sum[u][c] += seen[u] * weight[c];
  }
}

// `is_usual`: kernels of 3 x 3 without dilation along the rows. Where nothing is padded every window lies in its image.
template <class T, class Index, int places, int channels, bool is_usual, bool is_padded>
__global__ void __launch_bounds__(convolution_threads, 3)
    convolution_kernel(const __grid_constant__ ConvolutionTask<T, Index> task) {
  using Offset = std::make_signed_t<Index>;
  constexpr int line = channels + 16 / static_cast<int>(sizeof(T));  // threads that fill it side by side then meet more banks
  __shared__ __align__(16) T weights[kept_taps][line];
  const DeviceWindow<Index>& window = task.window;
  const std::int64_t plane = static_cast<std::int64_t>(window.y.size) * window.x.size;
  const std::int64_t taps = task.channels_in * static_cast<std::int64_t>(window.y.kernel.divisor()) * window.x.kernel.divisor();
  const std::int64_t parts = (task.channels_out + channels - 1) / channels;
  const Index first_place = static_cast<Index>(blockIdx.x) * (convolution_threads * places) + threadIdx.x;
  for (std::int64_t part = blockIdx.y; part < parts * task.groups; part += gridDim.y) {
    const std::int64_t group = part / parts;
    const std::int64_t first_out = (part - group * parts) * channels;
    const std::int64_t there = task.channels_out - first_out;
    const T* const weight = task.weight + (group * task.channels_out + first_out) * taps;
    std::int64_t from[places];  // where each window begins, in elements; of an image's padding, that is before it
    Offset top[places];
    Offset left[places];
    unsigned inside[places];  // which elements of a usual window are
#pragma unroll
    for (int u = 0; u < places; ++u) {
      const Index at = first_place + u * convolution_threads;
      const Place<Index> place(at < task.places ? at : 0, window);
      top[u] = place.top;
      left[u] = place.left;
      from[u] = (place.image * task.groups + group) * task.channels_in * plane +
                static_cast<std::int64_t>(place.top) * window.x.size + place.left;
      inside[u] = 0;
      if constexpr (is_usual && is_padded) {
#pragma unroll
        for (int k = 0; k < usual_side * usual_side; ++k) {
          if (window.y.has(top[u] + k / usual_side * window.y.dilation) && window.x.has(left[u] + k % usual_side))
            inside[u] |= 1U << k;
        }
      }
    }
    T sum[places][channels] = {};
    Offset ky = 0;
    Offset kx = 0;
    for (std::int64_t first = 0; first < taps; first += kept_taps) {
      const int count = static_cast<int>(taps - first < kept_taps ? taps - first : kept_taps);
      take_weights<T, channels, line>(weights, weight, taps, first, count, there);
      if constexpr (is_usual) {
        for (int tap = 0; tap < count; tap += usual_side * usual_side) {
#pragma unroll
          for (int k = 0; k < usual_side * usual_side; ++k) {
            T seen[places];
#pragma unroll
            for (int u = 0; u < places; ++u) {
              const T* const at = task.x + (from[u] + k / usual_side * window.y.dilation * std::int64_t{window.x.size});
              seen[u] = !is_padded || (inside[u] >> k & 1U) != 0 ? at[k % usual_side] : T{0};
            }
            take_in<channels>(sum, seen, weights[tap + k]);
          }
#pragma unroll
          for (int u = 0; u < places; ++u) from[u] += plane;
        }
      } else {
        for (int tap = 0; tap < count; ++tap) {
          const Offset down = ky * window.y.dilation;
          const Offset right = kx * window.x.dilation;
          T seen[places];
#pragma unroll
          for (int u = 0; u < places; ++u) {
            const bool is_seen = window.y.has(top[u] + down) && window.x.has(left[u] + right);
            seen[u] = is_seen ? task.x[from[u] + static_cast<std::int64_t>(down) * window.x.size + right] : T{0};
          }
          take_in<channels>(sum, seen, weights[tap]);
          if (++kx < static_cast<Offset>(window.x.kernel.divisor())) continue;
          kx = 0;
          if (++ky < static_cast<Offset>(window.y.kernel.divisor())) continue;
          ky = 0;
#pragma unroll
          for (int u = 0; u < places; ++u) from[u] += plane;
        }
      }
    }
    const std::int64_t area = static_cast<std::int64_t>(window.y.outputs.divisor()) * window.x.outputs.divisor();
#pragma unroll
    for (int u = 0; u < places; ++u) {
      const Index at = first_place + u * convolution_threads;
      if (at >= task.places) continue;
      const Place<Index> place(at, window);
      T* const to = task.out + ((place.image * task.groups + group) * task.channels_out + first_out) * area + place.within;
#pragma unroll
      for (int c = 0; c < channels; ++c) {
        if (c < there) to[c * area] = sum[u][c];
      }
    }
  }
}

template <class T, class Index, int places, int channels, bool is_usual, bool is_padded>
void launch_convolution(const ConvolutionTask<T, Index>& task, Queue& queue, const KernelCall& call) {
  constexpr std::int64_t at_once = convolution_threads * places;
  const std::int64_t parts = (task.channels_out + channels - 1) / channels * task.groups;
  const auto across = static_cast<unsigned>((static_cast<std::int64_t>(task.places) + at_once - 1) / at_once);
  launch<convolution_kernel<T, Index, places, channels, is_usual, is_padded>>(
      queue, call, {dim3(across, static_cast<unsigned>(std::min<std::int64_t>(parts, 65535))), dim3(convolution_threads)}, task);
}

template <class T, class Index>
ConvolutionTask<T, Index> task_of(const KernelCall& call, const ConvolutionAttributes& attributes, std::int64_t places) {
  const Operand& weight = device_input(call, 1);
  return {
      device_input(call, 0).as<T>(),          weight.as<T>(),    call.out().as<T>(),  static_cast<Index>(places),
      DeviceWindow<Index>(attributes.window), attributes.groups, weight.axes[1].size, weight.axes[0].size / attributes.groups};
}

template <class T, int places, int channels>
void run_usual(const ConvolutionTask<T, std::uint32_t>& task, bool is_padded, Queue& queue, const KernelCall& call) {
  if (is_padded) {
    launch_convolution<T, std::uint32_t, places, channels, true, true>(task, queue, call);
  } else {
    launch_convolution<T, std::uint32_t, places, channels, true, false>(task, queue, call);
  }
}

template <class T>
void convolve(const KernelCall& call, Queue& queue) {
  constexpr int few = 4;  // channels; and many:
  constexpr int many = 16;
  constexpr int places = 16 / static_cast<int>(sizeof(T));  // of a thread: its sums fill half its registers
  const auto attributes = call.attributes->as<ConvolutionAttributes>();
  const auto& [y, x, include_pad, channels_last] = attributes.window;
  const Operand& out = call.out();
  const std::int64_t count = out.axes[0].size * y.outputs * x.outputs;
  if (out.count() == 0) return;
  if (!fits_32_bits(attributes.window, count)) {
    return launch_convolution<T, std::uint64_t, places, many, false, true>(task_of<T, std::uint64_t>(call, attributes, count),
                                                                           queue, call);
  }
  const auto task = task_of<T, std::uint32_t>(call, attributes, count);
  const bool has_few = task.channels_out <= few;
  const bool is_usual = y.kernel == usual_side && x.kernel == usual_side && x.dilation == 1;
  if (!is_usual) {
    return has_few ? launch_convolution<T, std::uint32_t, places, few, false, true>(task, queue, call)
                   : launch_convolution<T, std::uint32_t, places, many, false, true>(task, queue, call);
  }
  const bool is_padded = y.padding > 0 || x.padding > 0;
  if (has_few) return run_usual<T, places, few>(task, is_padded, queue, call);
  // Two blocks for every multiprocessor, or half the places for each thread.
  const std::int64_t blocks = count / (convolution_threads * places) * ((task.channels_out + many - 1) / many) * task.groups;
  if (blocks >= 2 * std::int64_t{queue.properties().multiprocessors})
    return run_usual<T, places, many>(task, is_padded, queue, call);
  run_usual<T, places / 2, many>(task, is_padded, queue, call);
}

}  // namespace

void convolve_directly(const KernelCall& call, Queue& queue) {
  visit_dtype<wide_floats>(call.out().dtype, [&]<class T>(T) { convolve<T>(call, queue); });
}

}  // namespace tutti::kernels::cuda

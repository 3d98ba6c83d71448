// Elements that are dropped by chance: which ones depends on their numbers alone.
#include "tutti/exec/neural_attributes.h"
#include "tutti/exec/philox.h"
#include "tutti/kernels/cuda/device_input.h"
#include "tutti/kernels/cuda/elementwise.cuh"
#include "tutti/kernels/cuda/registration.h"

namespace tutti::kernels::cuda {

namespace {

// A thread has as many elements as fill whole packs and whole Philox blocks of four words.
template <class T>
inline constexpr int dropout_elements = pack_width<T> > 4 ? pack_width<T> : 4;

template <class T>
__global__ void dropout_kernel(const T* x, T* out, std::int64_t count, bool is_aligned, DropoutAttributes attributes) {
  constexpr int elements = dropout_elements<T>;
  constexpr int width = pack_width<T>;
  const std::int64_t at = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * elements;
  if (at >= count) return;
  const bool is_whole = is_aligned && at + elements <= count;
  T value[elements];
  if (is_whole) {
#pragma unroll
    for (int p = 0; p < elements / width; ++p) {
      const auto pack = *reinterpret_cast<const Pack<T, width>*>(x + at + p * width);
#pragma unroll
      for (int i = 0; i < width; ++i) value[p * width + i] = pack.lane[i];
    }
  } else {
#pragma unroll
    for (int i = 0; i < elements; ++i) value[i] = at + i < count ? x[at + i] : narrow<T>(0);
  }
  const auto scale = static_cast<Working<T>>(attributes.scale);
#pragma unroll
  for (int b = 0; b < elements / 4; ++b) {
    const Philox::Block words = Philox::block(attributes.key, attributes.counter + static_cast<std::uint64_t>(at / 4 + b));
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      T& v = value[b * 4 + i];
      v = words[i] < attributes.dropped ? narrow<T>(0) : narrow<T>(widen(v) * scale);
    }
  }
  if (is_whole) {
#pragma unroll
    for (int p = 0; p < elements / width; ++p) {
      Pack<T, width> pack;
#pragma unroll
      for (int i = 0; i < width; ++i) pack.lane[i] = value[p * width + i];
      *reinterpret_cast<Pack<T, width>*>(out + at + p * width) = pack;
    }
  } else {
#pragma unroll
    for (int i = 0; i < elements; ++i) {
      if (at + i < count) out[at + i] = value[i];
    }
  }
}

template <class T>
void run_dropout(const KernelCall& call, Queue& queue) {
  const std::int64_t count = call.out().count();
  if (count == 0) return;
  const bool aligned = is_aligned(device_input(call, 0), pack_bytes) && is_aligned(call.out(), pack_bytes);
  const auto attributes = call.attributes->as<DropoutAttributes>();
  const Grid grid = grid_for((count + dropout_elements<T> - 1) / dropout_elements<T>, 1, queue);
  launch<dropout_kernel<T>>(queue, call, grid, call.in(0).as<T>(), call.out().as<T>(), count, aligned, attributes);
}

}  // namespace

static void dropout(const KernelCall& call, KernelContext& context) {
  visit_stored<floating_dtypes>(call.in(0).dtype, [&]<class T>(T) { run_dropout<T>(call, queue_of(context)); });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("Dropout", dropout, nullptr, floating_dtypes);

}  // namespace tutti::kernels::cuda

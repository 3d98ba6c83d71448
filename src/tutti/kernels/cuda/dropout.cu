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

// Elements that are counted down the columns of matrices. A thread has four of each of `width` columns, those of one Philox
// block; there are `packs` such columns and `groups` of four rows.
template <class T, int width>
__global__ void dropout_matrices_kernel(const T* x, T* out, Divisor<std::uint32_t> packs, Divisor<std::uint32_t> groups,
                                        std::uint32_t count, DropoutAttributes attributes) {
  const std::uint32_t number = blockIdx.x * blockDim.x + threadIdx.x;
  if (number >= count) return;
  const std::uint32_t above = packs.quotient(number);
  const std::int64_t column = static_cast<std::int64_t>(number - above * packs.divisor()) * width;
  const std::int64_t matrix = groups.quotient(above);
  const std::int64_t group = above - matrix * groups.divisor();
  const std::int64_t at = static_cast<std::int64_t>(above) * 4 * attributes.columns + column;
  Loaded<T, width> loaded[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) loaded[r] = *reinterpret_cast<const Loaded<T, width>*>(x + at + r * attributes.columns);
  Pack<T, width> pack[4];
#pragma unroll
  for (int r = 0; r < 4; ++r) pack[r] = std::bit_cast<Pack<T, width>>(loaded[r]);
  const auto scale = static_cast<Working<T>>(attributes.scale);
  const std::uint64_t first =
      attributes.counter + static_cast<std::uint64_t>((matrix * attributes.columns + column) * groups.divisor() + group);
#pragma unroll
  for (int c = 0; c < width; ++c) {
    const Philox::Block words = Philox::block(attributes.key, first + static_cast<std::uint64_t>(c) * groups.divisor());
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      T& v = pack[r].lane[c];
      v = words[r] < attributes.dropped ? narrow<T>(0) : narrow<T>(widen(v) * scale);
    }
  }
#pragma unroll
  for (int r = 0; r < 4; ++r) *reinterpret_cast<Loaded<T, width>*>(out + at + r * attributes.columns) = held(pack[r]);
}

template <class T, int width>
void drop_in_matrices(const KernelCall& call, Queue& queue, const DropoutAttributes& attributes) {
  const std::int64_t threads = call.out().count() / (4 * width);
  launch<dropout_matrices_kernel<T, width>>(queue, call, grid_for(threads, 1, queue), call.in(0).as<T>(), call.out().as<T>(),
                                            Divisor<std::uint32_t>(attributes.columns / width),
                                            Divisor<std::uint32_t>(attributes.rows / 4), static_cast<std::uint32_t>(threads),
                                            attributes);
}

template <class T>
void run_dropout(const KernelCall& call, Queue& queue) {
  const std::int64_t count = call.out().count();
  if (count == 0) return;
  const bool aligned = is_aligned(device_input(call, 0), pack_bytes) && is_aligned(call.out(), pack_bytes);
  const auto attributes = call.attributes->as<DropoutAttributes>();
  if (attributes.rows > 1) {
    if (aligned && attributes.columns % pack_width<T> == 0) return drop_in_matrices<T, pack_width<T>>(call, queue, attributes);
    return drop_in_matrices<T, 1>(call, queue, attributes);
  }
  const Grid grid = grid_for((count + dropout_elements<T> - 1) / dropout_elements<T>, 1, queue);
  launch<dropout_kernel<T>>(queue, call, grid, call.in(0).as<T>(), call.out().as<T>(), count, aligned, attributes);
}

}  // namespace

static void dropout(const KernelCall& call, KernelContext& context) {
  visit_stored<floating_dtypes>(call.in(0).dtype, [&]<class T>(T) { run_dropout<T>(call, queue_of(context)); });
}

[[maybe_unused]] static const bool is_registered = register_cuda_kernel("Dropout", dropout, nullptr, floating_dtypes);

}  // namespace tutti::kernels::cuda

#include "tutti/kernels/cuda/attention_rows.h"

#include <algorithm>

#include "tutti/kernels/cuda/math.cuh"
#include "tutti/kernels/cuda/stored.cuh"

namespace tutti::kernels::cuda {

namespace {

inline constexpr int row_threads = 128;

struct Larger {
  template <class W>
  __device__ W operator()(W a, W b) const {
    return b > a || b != b ? b : a;
  }
};
struct Added {
  template <class W>
  __device__ W operator()(W a, W b) const {
    return a + b;
  }
};

// Over the block, in one order on every run; every thread gets it.
template <class W, class Combine>
__device__ W over_block(W value, const Combine& combine) {
  __shared__ W parts[row_threads / 32];
  for (int step = 16; step > 0; step /= 2) value = combine(value, __shfl_xor_sync(~0U, value, step));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (int i = 1; i < row_threads / 32; ++i) value = combine(value, parts[i]);
  return value;
}

// Which query a row is of, and which keys it sees.
struct RowOf {
  std::int64_t head;  // of all
  std::int64_t query;
  const std::uint8_t* mask;
  std::int64_t mask_step;
  bool causal;

  __device__ RowOf(const WeightStrip& strip, std::int64_t row)
      : head(row / strip.count),
        query(strip.first + row % strip.count),
        mask(strip.mask),
        mask_step(strip.mask_strides[3]),
        causal(strip.attributes.causal) {
    if (mask == nullptr) return;
    mask +=
        head / strip.heads * strip.mask_strides[0] + head % strip.heads * strip.mask_strides[1] + query * strip.mask_strides[2];
  }
  [[nodiscard]] __device__ bool sees(std::int64_t key) const {
    return (!causal || key <= query) && (mask == nullptr || mask[key * mask_step] != 0);
  }
};

template <class T, class Body>
__device__ void for_each_row(const WeightStrip& strip, const Body& body) {
  for (std::int64_t row = blockIdx.x; row < strip.all_heads * strip.count; row += gridDim.x) body(row, RowOf(strip, row));
}

template <class T>
__global__ void __launch_bounds__(row_threads) weigh_rows(WeightStrip strip, T* match, Working<T>* stats) {
  using W = Working<T>;
  const auto scale = static_cast<W>(strip.attributes.scale);
  for_each_row<T>(strip, [&](std::int64_t row, const RowOf& of) {
    T* const line = match + row * strip.keys;
    const auto at = [&](std::int64_t key) { return of.sees(key) ? widen(line[key]) * scale : static_cast<W>(unseen_match); };
    W largest = static_cast<W>(-INFINITY);
    for (std::int64_t key = threadIdx.x; key < strip.keys; key += row_threads) largest = Larger{}(largest, at(key));
    largest = over_block(largest, Larger{});
    W sum = 0;
    for (std::int64_t key = threadIdx.x; key < strip.keys; key += row_threads) sum += exp(at(key) - largest);
    sum = over_block(sum, Added{});
    for (std::int64_t key = threadIdx.x; key < strip.keys; key += row_threads)
      line[key] = narrow<T>(exp(at(key) - largest) / sum);
    if (threadIdx.x == 0) stats[of.head * strip.queries + of.query] = largest + log(sum);
  });
}

template <class T>
__global__ void __launch_bounds__(row_threads) weigh_rows_again(WeightStrip strip, T* match, const Working<T>* stats) {
  using W = Working<T>;
  const auto scale = static_cast<W>(strip.attributes.scale);
  for_each_row<T>(strip, [&](std::int64_t row, const RowOf& of) {
    T* const line = match + row * strip.keys;
    const W total = stats[of.head * strip.queries + of.query];
    W seen = 0;
    for (std::int64_t key = threadIdx.x; strip.mask != nullptr && key < strip.keys; key += row_threads)
      seen += of.sees(key) ? 1 : 0;
    const bool sees_any = strip.mask == nullptr || over_block(seen, Added{}) > 0;
    for (std::int64_t key = threadIdx.x; key < strip.keys; key += row_threads) {
      const W value = of.sees(key) ? widen(line[key]) * scale : static_cast<W>(unseen_match);
      // Where it sees none, the total is too large to hold how many there are.
      line[key] = narrow<T>(sees_any ? exp(value - total) : 1 / static_cast<W>(strip.keys));
    }
  });
}

template <class T>
__global__ void __launch_bounds__(row_threads)
    slope_rows(WeightStrip strip, const T* weights, T* slopes, const T* out, const T* given, std::int64_t width) {
  using W = Working<T>;
  const auto scale = static_cast<W>(strip.attributes.scale);
  for_each_row<T>(strip, [&](std::int64_t row, const RowOf& of) {
    W along = 0;
    for (std::int64_t i = threadIdx.x; i < width; i += row_threads)
      along += widen(out[row * width + i]) * widen(given[row * width + i]);
    along = over_block(along, Added{});
    for (std::int64_t key = threadIdx.x; key < strip.keys; key += row_threads) {
      const std::int64_t at = row * strip.keys + key;
      slopes[at] = narrow<T>(of.sees(key) ? widen(weights[at]) * (widen(slopes[at]) - along) * scale : W{0});
    }
  });
}

Grid grid_of(const WeightStrip& strip) {
  return {dim3(static_cast<unsigned>(std::min<std::int64_t>(strip.all_heads * strip.count, 1 << 30))), dim3(row_threads)};
}

}  // namespace

void weigh(const WeightStrip& strip, std::byte* match, std::byte* stats, DType dtype, Queue& queue, const KernelCall& call) {
  visit_stored<floating_dtypes>(dtype, [&]<class T>(T) {
    launch<weigh_rows<T>>(queue, call, grid_of(strip), strip, reinterpret_cast<T*>(match), reinterpret_cast<Working<T>*>(stats));
  });
}

void weigh_again(const WeightStrip& strip, std::byte* match, const std::byte* stats, DType dtype, Queue& queue,
                 const KernelCall& call) {
  visit_stored<floating_dtypes>(dtype, [&]<class T>(T) {
    launch<weigh_rows_again<T>>(queue, call, grid_of(strip), strip, reinterpret_cast<T*>(match),
                                reinterpret_cast<const Working<T>*>(stats));
  });
}

void slope(const WeightStrip& strip, const std::byte* weights, std::byte* slopes, const std::byte* out, const std::byte* given,
           std::int64_t width, DType dtype, Queue& queue, const KernelCall& call) {
  visit_stored<floating_dtypes>(dtype, [&]<class T>(T) {
    launch<slope_rows<T>>(queue, call, grid_of(strip), strip, reinterpret_cast<const T*>(weights), reinterpret_cast<T*>(slopes),
                          reinterpret_cast<const T*>(out), reinterpret_cast<const T*>(given), width);
  });
}

}  // namespace tutti::kernels::cuda

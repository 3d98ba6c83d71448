// The kernels behind running sums and products of lines, and the choice between those and columns.
#pragma once

#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

#include "tutti/kernels/cuda/scan.h"
#include "tutti/kernels/cuda/scan_columns.cuh"
#include "tutti/kernels/cuda/scanning.cuh"

namespace tutti::kernels::cuda {

// The results of a line begin at out + line * (length + initial) + initial, after the value of nothing if there is one.
template <class S>
__global__ void __launch_bounds__(128)
    scan_by_warp(typename S::From x, typename S::To out, std::int64_t lines, int length, int initial) {
  constexpr Joined<S::multiplies> join;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t line = static_cast<std::int64_t>(blockIdx.x) * 4 + threadIdx.x / 32;
  if (line >= lines) return;  // the whole warp
  const auto from = x + line * length;
  const auto to = out + line * (length + initial) + initial;
  if (initial != 0 && lane == 0) to[-1] = value_of_nothing<S>();
  typename S::Carry carry = S::multiplies ? 1 : 0;
  for (int at = 0; at < length; at += 32) {
    const bool is_in = at + lane < length;
    typename S::Part here = is_in ? S::part(from[at + lane]) : static_cast<typename S::Part>(S::multiplies ? 1 : 0);
#pragma unroll
    for (int apart = 1; apart < 32; apart *= 2) {
      const typename S::Part before = __shfl_up_sync(0xffffffffU, here, apart);
      if (lane >= apart) here = join(before, here);
    }
    if (is_in) to[at + lane] = S::finish(carry, here);
    carry = join(carry, static_cast<typename S::Carry>(__shfl_sync(0xffffffffU, here, 31)));
  }
}

// A block has one part of a line, and goes through its tiles; `carries` has what comes before each part, or is null.
template <class S>
__global__ void __launch_bounds__(scan_threads)
    scan_by_block(typename S::From x, typename S::To out, ScanPlan plan, int initial, const typename S::Carry* carries) {
  using Load = cub::BlockLoad<typename S::In, scan_threads, scan_items, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Scan = cub::BlockScan<typename S::Part, scan_threads, cub::BLOCK_SCAN_WARP_SCANS>;
  using Store = cub::BlockStore<typename S::Out, scan_threads, scan_items, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Scan::TempStorage scan;
    typename Store::TempStorage store;
  } storage;
  constexpr Joined<S::multiplies> join;
  const std::int64_t line = blockIdx.x / plan.parts;
  const std::int64_t begin = (blockIdx.x - line * plan.parts) * plan.part;
  const std::int64_t end = begin + plan.part < plan.length ? begin + plan.part : plan.length;
  const auto from = x + line * plan.length;
  const auto to = out + line * (plan.length + initial) + initial;
  if (initial != 0 && begin == 0 && threadIdx.x == 0) to[-1] = value_of_nothing<S>();
  typename S::Carry carry = carries != nullptr ? carries[blockIdx.x] : (S::multiplies ? 1 : 0);
  for (std::int64_t at = begin; at < end; at += scan_tile) {
    const int n = static_cast<int>(end - at < scan_tile ? end - at : scan_tile);
    typename S::In items[scan_items];
    if (n == scan_tile) {
      Load(storage.load).Load(from + at, items);
    } else {
      Load(storage.load).Load(from + at, items, n, typename S::In{});  // what is read beyond the end reaches no result
    }
    __syncthreads();
    typename S::Part parts[scan_items];
#pragma unroll
    for (int i = 0; i < scan_items; ++i) parts[i] = S::part(items[i]);
    typename S::Part total;
    Scan(storage.scan).InclusiveScan(parts, parts, join, total);
    __syncthreads();
    typename S::Out results[scan_items];
#pragma unroll
    for (int i = 0; i < scan_items; ++i) results[i] = S::finish(carry, parts[i]);
    if (n == scan_tile) {
      Store(storage.store).Store(to + at, results);
    } else {
      Store(storage.store).Store(to + at, results, n);
    }
    __syncthreads();
    carry = join(carry, static_cast<typename S::Carry>(total));
  }
}

// What each part adds up to. Eight elements at a time are joined before they meet the rest.
template <class S>
__global__ void __launch_bounds__(scan_threads) totals_of_parts(typename S::From x, ScanPlan plan, typename S::Carry* totals) {
  using Reduce = cub::BlockReduce<typename S::Carry, scan_threads>;
  __shared__ typename Reduce::TempStorage storage;
  constexpr Joined<S::multiplies> join;
  const std::int64_t line = blockIdx.x / plan.parts;
  const std::int64_t begin = (blockIdx.x - line * plan.parts) * plan.part;
  const std::int64_t end = begin + plan.part < plan.length ? begin + plan.part : plan.length;
  const auto from = x + line * plan.length;
  typename S::Carry mine = S::multiplies ? 1 : 0;
  for (std::int64_t at = begin + threadIdx.x; at < end; at += scan_tile) {
    typename S::Part some = S::multiplies ? 1 : 0;
#pragma unroll
    for (int i = 0; i < scan_items; ++i) {
      if (at + i * scan_threads < end) some = join(some, S::part(from[at + i * scan_threads]));
    }
    mine = join(mine, static_cast<typename S::Carry>(some));
  }
  mine = Reduce(storage).Reduce(mine, join);
  if (threadIdx.x == 0) totals[blockIdx.x] = mine;
}

// A block for each line: what comes before each of its parts, in the place of their totals.
template <class Carry, bool multiplies>
__global__ void __launch_bounds__(ScanPlan::most_parts) carries_of_parts(Carry* totals, std::int64_t parts) {
  using Scan = cub::BlockScan<Carry, ScanPlan::most_parts>;
  __shared__ typename Scan::TempStorage storage;
  const bool is_part = threadIdx.x < parts;
  Carry* mine = totals + blockIdx.x * parts + threadIdx.x;
  constexpr Carry nothing = multiplies ? 1 : 0;
  Carry before;
  Scan(storage).ExclusiveScan(is_part ? *mine : nothing, before, nothing, Joined<multiplies>{});
  if (is_part) *mine = before;
}

template <class S>
void run_scan(const ScanPlan& plan, bool include_initial, const typename S::From& x, const typename S::To& out, Queue& queue,
              const KernelCall& call) {
  using Carry = typename S::Carry;
  const int initial = include_initial ? 1 : 0;
  const auto attributes = call.attributes->as<ScanAttributes>();
  if (attributes.after > 0) return scan_columns<S>(static_cast<std::size_t>(attributes.after), initial, x, out, queue, call);
  if (plan.length <= warp_scan_length) {
    const Grid grid{.blocks = dim3(static_cast<unsigned>((plan.lines + 3) / 4)), .threads = dim3(128)};
    return launch<scan_by_warp<S>>(queue, call, grid, x, out, plan.lines, plan.length, initial);
  }
  const Grid grid{.blocks = dim3(static_cast<unsigned>(plan.lines * plan.parts)), .threads = dim3(scan_threads)};
  Carry* carries = nullptr;
  if (plan.parts > 1) {
    carries = call.scratch().as<Carry>();
    launch<totals_of_parts<S>>(queue, call, grid, x, plan, carries);
    const Grid by_line{.blocks = dim3(static_cast<unsigned>(plan.lines)), .threads = dim3(ScanPlan::most_parts)};
    launch<carries_of_parts<Carry, S::multiplies>>(queue, call, by_line, carries, plan.parts);
  }
  launch<scan_by_block<S>>(queue, call, grid, x, out, plan, initial, carries);
}

}  // namespace tutti::kernels::cuda

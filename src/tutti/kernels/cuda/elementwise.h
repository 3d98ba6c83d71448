// The host's part of every element-wise kernel that does not depend on the element: the layout of inputs, how many threads.
#pragma once

#include <cstring>

#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

inline constexpr std::int64_t pack_bytes = 16;  // what one thread loads or stores at once, at most

enum class OperandLayout : std::uint8_t { dense, single, strided };

inline OperandLayout layout_of(const Operand& operand) noexcept {
  if (!operand.is_immediate && operand.is_dense()) return OperandLayout::dense;
  return operand.is_single() ? OperandLayout::single : OperandLayout::strided;
}

inline bool is_aligned(const Operand& operand, std::size_t bytes) noexcept {
  return reinterpret_cast<std::uintptr_t>(operand.data) % bytes == 0;
}

// An input as a kernel takes it.
template <class T>
struct Source {
  const T* data;  // null where the element is `value`
  T value;
  std::int32_t lane_step;  // from one element of a pack to the next; 0: one stands for all of it, in a dense kernel for all
};

template <class T>
Source<T> source_of(const Operand& operand, bool is_repeated) noexcept {
  Source<T> source{operand.as<T>(), T{}, is_repeated ? 0 : 1};
  if (operand.is_immediate) {
    std::memcpy(&source.value, operand.data, sizeof(T));
    source.data = nullptr;
  }
  return source;
}

// For `items` dealt out so that each thread has up to `per_thread`: large blocks when there is work for every
// multiprocessor, smaller ones before that.
Grid grid_for(std::int64_t items, int per_thread, const Queue& queue) noexcept;

}  // namespace tutti::kernels::cuda

// Operands of any strides and dtype, read and written in row-major order, a block at a time, as elements that are contiguous.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tutti/exec/kernel.h"
#include "tutti/kernels/cpu/rows.h"

namespace tutti::kernels {

inline constexpr std::int64_t block_elements = 1024;

// Room for one operand's block: as it is stored and as it is worked on.
struct Scratch {
  alignas(64) std::array<std::byte, block_elements * 8> stored;
  alignas(64) std::array<std::byte, block_elements * 8> working;
};

// The axes of an operand, those of size 1 left out and neighbours that step alike joined.
class Layout {
 public:
  Layout() = default;
  explicit Layout(const Operand& operand) noexcept;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t element_size() const noexcept { return element_size_; }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] const Axis& axis(std::size_t i) const noexcept { return axes_[i]; }
  [[nodiscard]] bool is_dense() const noexcept { return rank_ == 0 || (rank_ == 1 && axes_[0].stride == 1); }
  [[nodiscard]] bool is_single() const noexcept { return rank_ == 0 || (rank_ == 1 && axes_[0].stride == 0); }

  // Where elements begin ... begin + n - 1 are if they are contiguous, else null.
  [[nodiscard]] std::byte* run_at(std::int64_t begin, std::int64_t n) const noexcept;
  void gather(std::int64_t begin, std::int64_t n, void* to) const noexcept;
  void scatter(std::int64_t begin, std::int64_t n, const void* from) const noexcept;

 private:
  template <class Move>
  void for_each_run(std::int64_t begin, std::int64_t n, Move&& move) const noexcept;

  std::byte* data_ = nullptr;
  std::size_t element_size_ = 0;
  std::int64_t count_ = 0;
  std::size_t rank_ = 0;
  std::array<Axis, most_axes> axes_;
};

// The row that turns elements of one dtype into another's; null when there is nothing to turn.
Row conversion(DType from, DType to);

class Reader {
 public:
  Reader() = default;
  explicit Reader(const Operand& operand, Row convert = nullptr, std::size_t working_size = 0) noexcept
      : layout_(operand), convert_(convert), working_size_(convert != nullptr ? working_size : size_of(operand.dtype)) {}
  Reader(const Operand& operand, DType as) : Reader(operand, conversion(operand.dtype, as), size_of(as)) {}

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] bool converts() const noexcept { return convert_ != nullptr; }
  [[nodiscard]] std::size_t working_size() const noexcept { return working_size_; }
  // Elements begin ... begin + n - 1, at most a block, contiguous, as the working type.
  const std::byte* read(std::int64_t begin, std::int64_t n, Scratch& scratch) const;
  // Any number of them, into room of the caller's.
  void read_into(std::int64_t begin, std::int64_t n, std::byte* to) const;

 private:
  Layout layout_;
  Row convert_ = nullptr;
  std::size_t working_size_ = 0;
};

class Writer {
 public:
  explicit Writer(const Operand& operand, Row convert = nullptr) noexcept : layout_(operand), convert_(convert) {}
  Writer(const Operand& operand, DType from) : Writer(operand, conversion(from, operand.dtype)) {}

  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] bool converts() const noexcept { return convert_ != nullptr; }
  // Where to put elements begin ... begin + n - 1, at most a block; write() with the same arguments then stores them.
  [[nodiscard]] std::byte* room(std::int64_t begin, std::int64_t n, Scratch& scratch) const noexcept;
  void write(std::int64_t begin, std::int64_t n, const std::byte* from, Scratch& scratch) const;

 private:
  Layout layout_;
  Row convert_;
};

}  // namespace tutti::kernels

// Free memory by size: lists per size class and bitmaps of those that are not empty, so finding a fit is a few
// instructions whatever the number of blocks (two-level segregated fit).
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "tutti/memory/block.h"
#include "tutti/memory/size_class.h"

namespace tutti {

class FreeBlocks {
 public:
  void insert(Block& block) noexcept {
    block.state = BlockState::free;
    const unsigned c = block.size_class;
    block.previous = nullptr;
    block.next = heads_[c];
    if (block.next != nullptr) block.next->previous = &block;
    heads_[c] = &block;
    columns_[row_of(c)] |= bit_of(c);
    rows_ |= std::uint64_t{1} << row_of(c);
  }

  void remove(Block& block) noexcept {
    const unsigned c = block.size_class;
    if (block.next != nullptr) block.next->previous = block.previous;
    if (block.previous != nullptr) {
      block.previous->next = block.next;
      return;
    }
    heads_[c] = block.next;
    if (block.next != nullptr) return;
    columns_[row_of(c)] &= static_cast<std::uint16_t>(~bit_of(c));
    if (columns_[row_of(c)] == 0) rows_ &= ~(std::uint64_t{1} << row_of(c));
  }

  // Removes and returns a block of at least `units`; null when there is none.
  Block* take(std::uint64_t units) noexcept {
    Block* found = find_in(size_class::of(units), units, few);
    if (found == nullptr) found = first_from(size_class::of(size_class::round_up(units)));
    if (found == nullptr) found = find_in(size_class::of(units), units, all);
    if (found != nullptr) remove(*found);
    return found;
  }

 private:
  static constexpr unsigned few = 4;
  static constexpr unsigned all = ~0U;

  static unsigned row_of(unsigned c) noexcept { return c / size_class::steps; }
  static std::uint16_t bit_of(unsigned c) noexcept { return static_cast<std::uint16_t>(1U << (c % size_class::steps)); }

  // The blocks of the class `units` falls into may be a little too small: these are looked at one by one.
  [[nodiscard]] Block* find_in(unsigned c, std::uint64_t units, unsigned most) const noexcept {
    for (Block* block = heads_[c]; block != nullptr && most > 0; block = block->next, --most) {
      if (block->units >= units) return block;
    }
    return nullptr;
  }
  // Any block of these classes will do.
  [[nodiscard]] Block* first_from(unsigned c) const noexcept {
    unsigned row = row_of(c);
    auto columns = static_cast<std::uint16_t>(columns_[row] & ~(bit_of(c) - 1U));
    if (columns == 0) {
      const std::uint64_t above = row + 1 < 64 ? rows_ & (~std::uint64_t{0} << (row + 1)) : 0;
      if (above == 0) return nullptr;
      row = static_cast<unsigned>(std::countr_zero(above));
      columns = columns_[row];
    }
    return heads_[row * size_class::steps + static_cast<unsigned>(std::countr_zero(columns))];
  }

  std::uint64_t rows_ = 0;
  std::array<std::uint16_t, size_class::rows> columns_{};
  std::array<Block*, std::size_t{size_class::rows} * size_class::steps> heads_{};
};

}  // namespace tutti

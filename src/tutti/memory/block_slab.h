// Makes and recycles block records, so that splitting and merging blocks costs no heap allocation once it has run in.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "tutti/memory/block.h"

namespace tutti {

class BlockSlab {
 public:
  // Until `count` more records are taken, take() does not allocate.
  void ensure(std::size_t count) {
    while (spare_ < count) add_chunk();
  }
  Block& take() {
    ensure(1);
    Block& block = *head_;
    head_ = block.next;
    --spare_;
    block.next = nullptr;
    return block;
  }
  void give(Block& block) noexcept {
    block.state = BlockState::unused;
    block.next = head_;
    block.previous = block.below = block.above = nullptr;
    head_ = &block;
    ++spare_;
  }

  // Every record that stands for memory. Records may be taken and given meanwhile; new ones may or may not be visited.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      for (Block& block : *chunks_[chunk]) {
        if (block.state != BlockState::unused) visit(block);
      }
    }
  }

 private:
  using Chunk = std::array<Block, 64>;

  void add_chunk() {
    chunks_.push_back(std::make_unique<Chunk>());
    for (Block& block : *chunks_.back()) give(block);
  }

  std::vector<std::unique_ptr<Chunk>> chunks_;
  Block* head_ = nullptr;
  std::size_t spare_ = 0;
};

}  // namespace tutti

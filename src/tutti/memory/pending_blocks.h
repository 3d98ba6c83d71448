// Blocks let go while work in flight still uses them, by home stream and size class. On its home stream such a block
// may be used at once, because the stream runs in order; elsewhere when its uses are done, or with an edge after them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "tutti/memory/block.h"

namespace tutti {

class PendingBlocks {
 public:
  [[nodiscard]] bool empty() const noexcept { return oldest_ == nullptr; }

  void add(Block& block) noexcept {
    block.state = BlockState::pending;
    block.list = &list_of(block.home(), block.size_class);
    block.previous = nullptr;
    block.next = *block.list;
    if (block.next != nullptr) block.next->previous = &block;
    *block.list = &block;
    block.older = newest_;
    block.newer = nullptr;
    (newest_ != nullptr ? newest_->newer : oldest_) = &block;
    newest_ = &block;
  }

  void remove(Block& block) noexcept {
    (block.previous != nullptr ? block.previous->next : *block.list) = block.next;
    if (block.next != nullptr) block.next->previous = block.previous;
    (block.older != nullptr ? block.older->newer : oldest_) = block.newer;
    (block.newer != nullptr ? block.newer->older : newest_) = block.older;
    if (cursor_ == &block) cursor_ = block.newer;
  }

  // A block of that class, of at least `units`, that work on `stream` may use without waiting for anyone.
  Block* take(StreamId stream, std::uint64_t units, unsigned size_class) noexcept {
    const std::size_t i = index_of(stream);
    if (stream == StreamId::none || i >= streams_.size() || streams_[i] == nullptr) return nullptr;
    unsigned looks = most_looks;
    for (Block* block = (*streams_[i])[size_class]; block != nullptr && looks > 0; block = block->next, --looks) {
      if (block->units < units) continue;
      remove(*block);
      return block;
    }
    return nullptr;
  }

  // The smallest block that is large enough, if possible one whose home is `stream`.
  Block* take_any(StreamId stream, std::uint64_t units) noexcept {
    Block* best = nullptr;
    for (Block* block = oldest_; block != nullptr; block = block->newer) {
      if (block->units < units) continue;
      const bool own = block->home() == stream;
      const bool best_own = best != nullptr && best->home() == stream;
      if (best == nullptr || (own && !best_own) || (own == best_own && block->units < best->units)) best = block;
    }
    if (best != nullptr) remove(*best);
    return best;
  }

  // Looks at `most` blocks, going on where the last call ended, and hands those nobody uses any more to `done`.
  template <class Done>
  void reclaim(std::size_t most, Done&& done) noexcept {
    if (cursor_ == nullptr) cursor_ = oldest_;
    for (Block* block = cursor_; block != nullptr && most > 0; --most) {
      Block* following = block->newer;
      if (block->is_settled()) {
        remove(*block);
        done(*block);
      }
      block = cursor_ = following;
    }
  }
  template <class Done>
  void reclaim_all(Done&& done) noexcept {
    cursor_ = oldest_;
    reclaim(~std::size_t{0}, done);
  }

  [[nodiscard]] const Block* oldest() const noexcept { return oldest_; }

 private:
  using Lists = std::array<Block*, size_class::count>;
  // Within a class sizes differ by a sixteenth at most, and a program asks for the same sizes again.
  static constexpr unsigned most_looks = 8;

  Block*& list_of(StreamId home, unsigned size_class) noexcept {
    const std::size_t i = index_of(home);
    if (i < streams_.size() && streams_[i] != nullptr) return (*streams_[i])[size_class];
    try {
      if (i >= streams_.size()) streams_.resize(i + 1);
      streams_[i] = std::make_unique<Lists>();
    } catch (const std::bad_alloc&) {  // it is then reclaimed when its uses are done, but not used before
      return homeless_;
    }
    return (*streams_[i])[size_class];
  }

  std::vector<std::unique_ptr<Lists>> streams_;
  Block* homeless_ = nullptr;
  Block* oldest_ = nullptr;
  Block* newest_ = nullptr;
  Block* cursor_ = nullptr;
};

}  // namespace tutti

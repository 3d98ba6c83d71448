// The pool's record of one piece of mapped memory. It is kept apart from the memory, which the host may not touch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/memory/buffer.h"
#include "tutti/memory/size_class.h"

namespace tutti {

class Block;

// Who gets a block back when its last owner lets go. Called on any thread.
class BlockOwner {
 public:
  virtual void take_back(Block& block) noexcept = 0;

 protected:
  ~BlockOwner() = default;
};

enum class BlockState : std::uint8_t {
  unused,   // a record without memory
  live,     // somebody owns it
  quick,    // nobody uses it; in the quick list of its class
  free,     // nobody uses it; in the free lists, may be merged with its neighbours
  pending,  // let go while work in flight uses it
};

class Block final : public Buffer {
 public:
  void release() noexcept override { owner->take_back(*this); }

  using Buffer::begin_life;
  using Buffer::forget_uses;
  using Buffer::home;
  using Buffer::inherit_uses;
  using Buffer::is_known_settled;
  using Buffer::is_settled;
  using Buffer::place_at;
  using Buffer::unfinished_uses;

  void set_units(std::uint64_t count) noexcept {
    units = count;
    size_class = static_cast<std::uint16_t>(size_class::of(count));
  }
  [[nodiscard]] std::size_t capacity() const noexcept { return units * size_class::unit; }
  [[nodiscard]] std::byte* end() const noexcept { return address() + capacity(); }
  [[nodiscard]] bool is_clean() const noexcept { return state == BlockState::quick || state == BlockState::free; }

  BlockOwner* owner = nullptr;
  BlockState state = BlockState::unused;
  std::uint16_t size_class = 0;
  std::uint64_t units = 0;
  Block* next = nullptr;  // in the one list its state puts it in
  Block* previous = nullptr;
  Block* below = nullptr;  // the neighbours in memory; null where the next address is not mapped
  Block* above = nullptr;
  Block** list = nullptr;  // pending: the head of the list it is in
  Block* older = nullptr;  // pending: all of them in the order they came
  Block* newer = nullptr;
};

}  // namespace tutti

// Where random numbers come from when a draw has no key of its own. Numbers are counted in blocks of four words of 32 bits, each
// worked out from a key and its place in the count: whoever holds a range of the count can draw at any time, on any device.
#pragma once

#include <atomic>
#include <cstdint>

#include "tutti/base/intrusive.h"

namespace tutti {

// Any thread may draw from it at any time: no lock, no wait.
class Generator {
 public:
  // Seeded by the system: other numbers in every run.
  Generator();
  explicit Generator(std::uint64_t seed);
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;
  ~Generator() = default;

  // Begins anew, with the numbers of that seed.
  void set_seed(std::uint64_t seed) noexcept { set_position({.key = seed}); }
  // The last one.
  [[nodiscard]] std::uint64_t seed() const noexcept { return state_->seed(); }

  struct Reserved {
    std::uint64_t key = 0;
    std::uint64_t counter = 0;  // the first block
  };
  // So many blocks, which nobody else gets from this generator: for draws with this key and counter.
  Reserved reserve(std::uint64_t blocks) noexcept { return state_->reserve(blocks); }

  // Where it stands, for checkpoints: one that is set there draws what this one is about to draw.
  [[nodiscard]] Reserved position() const noexcept { return state_->position(); }
  void set_position(const Reserved& position) noexcept { state_->set_position(position); }

  // What it hands out numbers from. Who keeps a call holds it: its draws go on when the generator is gone.
  class State final : public Counted {
   public:
    explicit State(std::uint64_t seed) noexcept : key_(seed) {}
    void release() noexcept { delete this; }

    [[nodiscard]] std::uint64_t seed() const noexcept { return key_.load(); }
    Reserved reserve(std::uint64_t blocks) noexcept;
    [[nodiscard]] Reserved position() const noexcept;
    void set_position(const Reserved& position) noexcept;

   private:
    std::atomic<std::uint64_t> key_;
    std::atomic<std::uint64_t> counter_{0};
    std::atomic<std::uint64_t> version_{0};  // odd while a seed is being set
  };
  [[nodiscard]] State& state() const noexcept { return *state_; }

 private:
  Ref<State> state_;
};

// Numbers a call takes from a generator when it runs; its attributes begin with the key and the counter to be filled in. Calls
// that follow each other may be parts of one draw: the first of them takes the blocks of all.
struct Draw {
  Generator::State* generator = nullptr;  // null: the attributes say which
  std::uint64_t blocks = 0;               // of the whole draw
  std::uint64_t skipped = 0;              // those of them before this part
  std::uint32_t whole = 0;                // the number of the draw that this is a part of; 0: it is all of one
  std::uint32_t part = 0;                 // ascends among the parts
  bool repeats = false;                   // no generator: the attributes have what an earlier call drew, as in its gradient
};

// What the last draw took, for the parts of it that follow.
struct TakenNumbers {
  Generator::Reserved from;
  std::uint32_t whole = 0;
  std::uint32_t part = 0;
};
Generator::Reserved take(const Draw& draw, TakenNumbers& last) noexcept;

// What draws without a key and a generator use.
Generator& default_generator();
// Of the default generator: what is drawn from here on is the same in every run. Without it every run has other numbers.
void set_seed(std::uint64_t seed);

}  // namespace tutti

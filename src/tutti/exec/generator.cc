#include "tutti/exec/generator.h"

#include <random>

namespace tutti {

namespace {

std::uint64_t system_seed() {
  std::random_device source;
  return std::uint64_t{source()} << 32U | source();
}

}  // namespace

Generator::Generator() : Generator(system_seed()) {}
Generator::Generator(std::uint64_t seed) : state_(new State(seed)) {}

// All accesses are in one order: who finds the same even version before and after has read between two seeds, not amid one.
void Generator::State::set_position(const Reserved& position) noexcept {
  std::uint64_t version = version_.load() & ~std::uint64_t{1};
  while (!version_.compare_exchange_weak(version, version + 1)) version &= ~std::uint64_t{1};
  key_.store(position.key);
  counter_.store(position.counter);
  version_.store(version + 2);
}

Generator::Reserved Generator::State::position() const noexcept {
  for (;;) {
    const std::uint64_t version = version_.load();
    const Reserved here{key_.load(), counter_.load()};
    if ((version & 1U) == 0 && version_.load() == version) [[likely]]
      return here;
  }
}

Generator::Reserved Generator::State::reserve(std::uint64_t blocks) noexcept {
  for (;;) {
    const std::uint64_t version = version_.load();
    const Reserved got{key_.load(), counter_.fetch_add(blocks)};
    if ((version & 1U) == 0 && version_.load() == version) [[likely]]
      return got;
  }
}

// A part that does not ascend belongs to the next run of the same program.
Generator::Reserved take(const Draw& draw, TakenNumbers& last) noexcept {
  if (draw.whole == 0) return draw.generator->reserve(draw.blocks);
  if (draw.whole != last.whole || draw.part <= last.part) last.from = draw.generator->reserve(draw.blocks);
  last.whole = draw.whole;
  last.part = draw.part;
  return {last.from.key, last.from.counter + draw.skipped};
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

void set_seed(std::uint64_t seed) { default_generator().set_seed(seed); }

}  // namespace tutti

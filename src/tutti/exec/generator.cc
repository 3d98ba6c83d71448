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

// All accesses are in one order: who finds the same even version before and after has read between two seeds, not amid one.
void Generator::set_seed(std::uint64_t seed) noexcept {
  std::uint64_t version = version_.load() & ~std::uint64_t{1};
  while (!version_.compare_exchange_weak(version, version + 1)) version &= ~std::uint64_t{1};
  key_.store(seed);
  counter_.store(0);
  version_.store(version + 2);
}

Generator::Reserved Generator::reserve(std::uint64_t blocks) noexcept {
  for (;;) {
    const std::uint64_t version = version_.load();
    const Reserved got{key_.load(), counter_.fetch_add(blocks)};
    if ((version & 1U) == 0 && version_.load() == version) [[likely]]
      return got;
  }
}

Generator& default_generator() {
  static Generator generator;
  return generator;
}

void set_seed(std::uint64_t seed) { default_generator().set_seed(seed); }

}  // namespace tutti

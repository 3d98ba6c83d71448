// Where random numbers come from when a draw has no key of its own. Numbers are counted in blocks of four words of 32 bits, each
// worked out from a key and its place in the count: whoever holds a range of the count can draw at any time, on any device.
#pragma once

#include <atomic>
#include <cstdint>

namespace tutti {

// Any thread may draw from it at any time: no lock, no wait.
class Generator {
 public:
  // Seeded by the system: other numbers in every run.
  Generator();
  explicit Generator(std::uint64_t seed) noexcept : key_(seed) {}
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;
  ~Generator() = default;

  // Begins anew, with the numbers of that seed.
  void set_seed(std::uint64_t seed) noexcept;
  // The last one.
  [[nodiscard]] std::uint64_t seed() const noexcept { return key_.load(); }

  struct Reserved {
    std::uint64_t key = 0;
    std::uint64_t counter = 0;  // the first block
  };
  // So many blocks, which nobody else gets from this generator: for draws with this key and counter.
  Reserved reserve(std::uint64_t blocks) noexcept;

 private:
  std::atomic<std::uint64_t> key_;
  std::atomic<std::uint64_t> counter_{0};
  std::atomic<std::uint64_t> version_{0};  // odd while a seed is being set
};

// What draws without a key and a generator use.
Generator& default_generator();
// Of the default generator: what is drawn from here on is the same in every run. Without it every run has other numbers.
void set_seed(std::uint64_t seed);

}  // namespace tutti

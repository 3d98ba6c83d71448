// How the chunks of one piece of work are dealt out to those who work on it: each core has a share that is its own.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tutti {

// A program's ops go over the same memory again and again. A core that always gets the same part of it finds it in its own
// caches; cores of one machine may be far apart (docs/performance.md, "Cores that are far apart"). Who is done with its share
// helps with the end of another's.
class Shares {
 public:
  static constexpr std::size_t most_shares = 16;
  static constexpr std::size_t most_chunks = UINT32_MAX;

  Shares(std::size_t chunks, std::size_t members) noexcept;

  // The share of a member that runs on this core: the same for the same core, unless another member has it.
  [[nodiscard]] std::size_t claim(int core) noexcept;
  // The next chunk for the member with this share. Nothing: all are taken.
  [[nodiscard]] std::optional<std::size_t> take(std::size_t share) noexcept;
  [[nodiscard]] bool is_empty() const noexcept;
  void clear() noexcept;

 private:
  // Chunks from `begin` up to `end`, in one word: begin in its lower half.
  struct alignas(64) Share {
    std::atomic<std::uint64_t> range{0};
    std::atomic<bool> is_claimed{false};
  };

  std::size_t count_;
  std::array<Share, most_shares> shares_;
};

}  // namespace tutti

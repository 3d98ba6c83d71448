// Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): four random words from a 128-bit counter and a 64-bit key.
#pragma once

#include <array>
#include <cstdint>

namespace tutti {

struct Philox {
  using Block = std::array<std::uint32_t, 4>;
  static constexpr int rounds = 10;
  static constexpr std::uint32_t multiplier0 = 0xD2511F53U;
  static constexpr std::uint32_t multiplier1 = 0xCD9E8D57U;
  static constexpr std::uint32_t step0 = 0x9E3779B9U;
  static constexpr std::uint32_t step1 = 0xBB67AE85U;

  static constexpr Block mix(Block counter, std::uint32_t key0, std::uint32_t key1) noexcept {
    for (int round = 0; round < rounds; ++round) {
      const std::uint64_t p0 = std::uint64_t{multiplier0} * counter[0];
      const std::uint64_t p1 = std::uint64_t{multiplier1} * counter[2];
      counter = {static_cast<std::uint32_t>(p1 >> 32U) ^ counter[1] ^ key0, static_cast<std::uint32_t>(p1),
                 static_cast<std::uint32_t>(p0 >> 32U) ^ counter[3] ^ key1, static_cast<std::uint32_t>(p0)};
      key0 += step0;
      key1 += step1;
    }
    return counter;
  }

  // The counter's low half is the number of the block, its high half 0.
  static constexpr Block block(std::uint64_t key, std::uint64_t number) noexcept {
    return mix({static_cast<std::uint32_t>(number), static_cast<std::uint32_t>(number >> 32U), 0, 0},
               static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U));
  }
};

}  // namespace tutti

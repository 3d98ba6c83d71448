#include "tutti/kernels/cpu/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/philox_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/exec/philox.h"
#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// Sixteen blocks side by side, as plain loops that the compiler vectorises.
void philox_blocks(std::uint64_t key, std::uint64_t first, std::size_t blocks, std::uint32_t* words) {
  constexpr std::size_t width = 16;
  std::size_t b = 0;
  for (; b + width <= blocks; b += width) {
    std::uint32_t c0[width];
    std::uint32_t c1[width];
    std::uint32_t c2[width] = {};
    std::uint32_t c3[width] = {};
    for (std::size_t i = 0; i < width; ++i) {
      c0[i] = static_cast<std::uint32_t>(first + b + i);
      c1[i] = static_cast<std::uint32_t>((first + b + i) >> 32U);
    }
    auto k0 = static_cast<std::uint32_t>(key);
    auto k1 = static_cast<std::uint32_t>(key >> 32U);
    for (int round = 0; round < Philox::rounds; ++round) {
      for (std::size_t i = 0; i < width; ++i) {
        const std::uint64_t p0 = std::uint64_t{Philox::multiplier0} * c0[i];
        const std::uint64_t p1 = std::uint64_t{Philox::multiplier1} * c2[i];
        const std::uint32_t from1 = c1[i];
        const std::uint32_t from3 = c3[i];
        c0[i] = static_cast<std::uint32_t>(p1 >> 32U) ^ from1 ^ k0;
        c1[i] = static_cast<std::uint32_t>(p1);
        c2[i] = static_cast<std::uint32_t>(p0 >> 32U) ^ from3 ^ k1;
        c3[i] = static_cast<std::uint32_t>(p0);
      }
      k0 += Philox::step0;
      k1 += Philox::step1;
    }
    std::uint32_t* out = words + 4 * b;
    for (std::size_t i = 0; i < width; ++i) {
      out[4 * i] = c0[i];
      out[4 * i + 1] = c1[i];
      out[4 * i + 2] = c2[i];
      out[4 * i + 3] = c3[i];
    }
  }
  for (; b < blocks; ++b) {
    const Philox::Block block = Philox::block(key, first + b);
    std::memcpy(words + 4 * b, block.data(), sizeof(block));
  }
}

PhiloxRow make_philox_row() { return philox_blocks; }

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_philox_row);
PhiloxRow philox_row() {
  static const PhiloxRow row = HWY_DYNAMIC_DISPATCH(make_philox_row)();
  return row;
}
}  // namespace tutti::kernels
#endif

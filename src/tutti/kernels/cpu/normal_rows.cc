#include "tutti/kernels/cpu/normal_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/normal_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <array>
#include <cstring>

#include "hwy/highway.h"
#include "tutti/exec/box_muller.h"
#include "tutti/kernels/cpu/rounded_math.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Plain loops that the compiler vectorises, but for the square root, which it would have to guard.
template <class T>
[[gnu::flatten]] void normal_row(const std::uint32_t* words, std::size_t pairs, T mean, T stddev, T* out) {
  using Draw = BoxMuller<T, RoundedMath<T>>;
  using Word = typename Draw::Word;
  constexpr std::size_t most = 128;
  alignas(64) std::array<Word, 2 * most> given;
  alignas(64) std::array<T, most> radius{};  // whole vectors are read
  alignas(64) std::array<T, most> cosine;
  alignas(64) std::array<T, most> sine;
  for (std::size_t at = 0; at < pairs; at += most) {
    const std::size_t n = pairs - at < most ? pairs - at : most;
    std::memcpy(given.data(), words + at * (2 * sizeof(Word) / 4), n * 2 * sizeof(Word));
    for (std::size_t i = 0; i < n; ++i) {
      const PolarNormal<T> drawn = Draw::of(given[2 * i], given[2 * i + 1]);
      radius[i] = drawn.square;
      cosine[i] = drawn.cosine;
      sine[i] = drawn.sine;
    }
    const hn::ScalableTag<T> d;
    for (std::size_t i = 0; i < n; i += hn::Lanes(d)) hn::Store(hn::Sqrt(hn::Load(d, radius.data() + i)), d, radius.data() + i);
    for (std::size_t i = 0; i < n; ++i) {
      out[2 * (at + i)] = radius[i] * cosine[i] * stddev + mean;
      out[2 * (at + i) + 1] = radius[i] * sine[i] * stddev + mean;
    }
  }
}

NormalRows make_normal_rows() { return {normal_row<float>, normal_row<double>}; }

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_normal_rows);
const NormalRows& normal_rows() {
  static const NormalRows rows = HWY_DYNAMIC_DISPATCH(make_normal_rows)();
  return rows;
}
}  // namespace tutti::kernels
#endif

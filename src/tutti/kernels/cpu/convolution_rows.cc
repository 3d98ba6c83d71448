#include "tutti/kernels/cpu/convolution_rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/convolution_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_operands.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// As many accumulators as leave registers for the image and the weights.
#if HWY_TARGET <= HWY_AVX3
inline constexpr std::size_t channels_at_once = 8;
#else
inline constexpr std::size_t channels_at_once = 4;
#endif
inline constexpr std::size_t vectors_at_once = 3;

template <std::size_t channels, std::size_t vectors, class T>
HWY_INLINE void tile(const T* image, const std::int64_t* offsets, std::int64_t taps, const T* weights, T* out, std::int64_t plane,
                     std::int64_t count, std::size_t length) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<decltype(d)> sums[channels][vectors];
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t v = 0; v < vectors; ++v) sums[c][v] = hn::Zero(d);
  }
  for (std::int64_t t = 0; t < taps; ++t, weights += channels) {
    const T* from = image + offsets[t];
    hn::Vec<decltype(d)> seen[vectors];
    for (std::size_t v = 0; v < vectors; ++v) seen[v] = hn::LoadU(d, from + v * lanes);
    for (std::size_t c = 0; c < channels; ++c) {
      const auto weight = hn::Set(d, weights[c]);
      for (std::size_t v = 0; v < vectors; ++v) sums[c][v] = hn::MulAdd(weight, seen[v], sums[c][v]);
    }
  }
  for (std::size_t c = 0; c < channels; ++c) {
    if (static_cast<std::int64_t>(c) == count) return;
    T* to = out + static_cast<std::int64_t>(c) * plane;
    for (std::size_t v = 0; v < vectors; ++v) {
      const std::size_t at = v * lanes;
      if (at + lanes <= length) {
        hn::StoreU(sums[c][v], d, to + at);
      } else if (at < length) {
        store<decltype(d)>(sums[c][v], to + at, length - at);
      }
    }
  }
}

template <std::size_t channels, class T>
void line(const T* image, const std::int64_t* offsets, std::int64_t taps, const T* weights, T* out, std::int64_t plane,
          std::int64_t count, std::int64_t length) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  for (std::int64_t at = 0; at < length; at += static_cast<std::int64_t>(vectors_at_once) * lanes) {
    const std::int64_t rest = length - at;
    const auto some = static_cast<std::size_t>(rest);
    if (rest > 2 * lanes) {
      tile<channels, vectors_at_once>(image + at, offsets, taps, weights, out + at, plane, count, some);
    } else if (rest > lanes) {
      tile<channels, 2>(image + at, offsets, taps, weights, out + at, plane, count, some);
    } else {
      tile<channels, 1>(image + at, offsets, taps, weights, out + at, plane, count, some);
    }
  }
}

template <class T>
ConvolutionRows<T> make_convolution_rows() {
  return {{static_cast<std::int64_t>(channels_at_once), line<channels_at_once, T>},
          {1, line<1, T>},
          static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()))};
}
ConvolutionRows<float> convolution_rows_f32() { return make_convolution_rows<float>(); }
ConvolutionRows<double> convolution_rows_f64() { return make_convolution_rows<double>(); }

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(convolution_rows_f32);
HWY_EXPORT(convolution_rows_f64);
template <>
const ConvolutionRows<float>& convolution_rows<float>() {
  static const ConvolutionRows<float> rows = HWY_DYNAMIC_DISPATCH(convolution_rows_f32)();
  return rows;
}
template <>
const ConvolutionRows<double>& convolution_rows<double>() {
  static const ConvolutionRows<double> rows = HWY_DYNAMIC_DISPATCH(convolution_rows_f64)();
  return rows;
}
}  // namespace tutti::kernels
#endif

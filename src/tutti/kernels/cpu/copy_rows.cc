#include <bit>
#include <cstring>

#include "tutti/kernels/cpu/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/copy_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// Output that is larger than the caches goes past them.
template <class D>
void streaming_copy(const void* const* inputs, unsigned singles, void* out, std::size_t count) {
  const D d;
  auto* output = static_cast<hn::TFromD<D>*>(out);
  Repeated<D> repeated;
  Source<D> a(inputs[0], (singles & 1U) != 0, repeated);
  std::size_t i = before_aligned(d, output, count);
  if (i != 0) store<D>(a.load(i), output, i);
  a.advance(i);
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    hn::Stream(a.load(), d, output + i);
    a.advance();
  }
  hwy::FlushStream();
  if (i < count) store<D>(a.load(count - i), output + i, count - i);
}

template <class D>
void reversed_copy(const void* const* inputs, unsigned /*singles*/, void* out, std::size_t count) {
  using T = hn::TFromD<D>;
  const D d;
  const auto* from = static_cast<const T*>(inputs[0]);
  auto* to = static_cast<T*>(out);
  [[maybe_unused]] const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  if constexpr (sizeof(T) > 1) {  // Highway has no reverse of bytes
    for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Reverse(d, hn::LoadU(d, from - (i + lanes - 1))), d, to + i);
  }
  for (; i < count; ++i) to[i] = *(from - i);
}

// Every line is read once, as a whole: lines that are a power of two apart push each other out of the cache.
template <class T>
void turned_square(const void* const* lines, void* out, std::ptrdiff_t step) {
  constexpr std::size_t side = line_bytes / sizeof(T);
  HWY_ALIGN T square[side][side];
  for (std::size_t c = 0; c < side; ++c) std::memcpy(square[c], lines[c], line_bytes);
  auto* to = static_cast<T*>(out);
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t r = 0; r < side; ++r, to += step) {
    for (std::size_t c = 0; c < side; ++c) to[c] = square[c][r];
  }
#else
  constexpr std::size_t n = 16 / sizeof(T);
  const hn::Full128<T> d;
  for (std::size_t r = 0; r < side; r += n) {
    for (std::size_t c = 0; c < side; c += n) {
      hn::Vec<decltype(d)> rows[n];
      hn::Vec<decltype(d)> mixed[n];
      for (std::size_t i = 0; i < n; ++i) rows[i] = hn::Load(d, square[c + i] + r);
      // Each round deals out the rows like a pack of cards cut in the middle; as many rounds as the side has bits turn it.
      for (std::size_t round = 1; round < n; round *= 2) {
        for (std::size_t i = 0; i < n / 2; ++i) {
          mixed[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + n / 2]);
          mixed[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + n / 2]);
        }
        for (std::size_t i = 0; i < n; ++i) rows[i] = mixed[i];
      }
      T* corner = to + static_cast<std::ptrdiff_t>(r) * step + c;
      for (std::size_t i = 0; i < n; ++i, corner += step) hn::StoreU(rows[i], d, corner);
    }
  }
#endif
}

template <class T>
CopyRows copy_of() {
  return {unary_row<Same, Tag<T>>, streaming_copy<Tag<T>>, reversed_copy<Tag<T>>, turned_square<T>};
}

std::array<CopyRows, 4> make_copy_rows() {
  return {copy_of<std::uint8_t>(), copy_of<std::uint16_t>(), copy_of<std::uint32_t>(), copy_of<std::uint64_t>()};
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(make_copy_rows);
const std::array<CopyRows, 4>& copy_rows() {
  static const std::array<CopyRows, 4> rows = HWY_DYNAMIC_DISPATCH(make_copy_rows)();
  return rows;
}
Row copy_row(std::size_t element_size, std::int64_t step) {
  const CopyRows& rows = copy_rows()[static_cast<std::size_t>(std::countr_zero(element_size))];
  return step == 0 || step == 1 ? rows.plain : step == -1 ? rows.reversed : nullptr;
}
}  // namespace tutti::kernels
#endif

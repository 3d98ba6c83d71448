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

template <class T>
CopyRows copy_of() {
  return {unary_row<Same, Tag<T>>, streaming_copy<Tag<T>>};
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
}  // namespace tutti::kernels
#endif

#include "tutti/kernels/cpu/scan_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/scan_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

template <class T>
HWY_INLINE double scan_rest(const T* x, T* out, double carry, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    carry += static_cast<double>(x[i]);
    out[i] = static_cast<T>(carry);
  }
  return carry;
}

// The only chain from group to group is the addition to the carry.
double scan_f32(const float* x, float* out, double carry, std::size_t count) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, 4> d;
  const auto within = [&](hn::Vec<decltype(d)> v) HWY_ATTR {
    v = hn::Add(v, hn::ShiftLeftLanes<1>(d, v));
    return hn::Add(v, hn::ShiftLeftLanes<2>(d, v));
  };
  for (; i + 8 <= count; i += 8) {
    const auto low = within(hn::LoadU(d, x + i));
    const auto high = hn::Add(within(hn::LoadU(d, x + i + 4)), hn::Broadcast<3>(low));
    const auto before = hn::Set(d, static_cast<float>(carry));
    hn::StoreU(hn::Add(low, before), d, out + i);
    hn::StoreU(hn::Add(high, before), d, out + i + 4);
    carry += static_cast<double>(hn::GetLane(hn::Broadcast<3>(high)));
  }
#endif
  return scan_rest(x + i, out + i, carry, count - i);
}

double scan_f64(const double* x, double* out, double carry, std::size_t count) {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const double s0 = x[i];
    const double s1 = s0 + x[i + 1];
    const double s2 = s1 + x[i + 2];
    const double s3 = s1 + (x[i + 2] + x[i + 3]);
    out[i] = carry + s0;
    out[i + 1] = carry + s1;
    out[i + 2] = carry + s2;
    out[i + 3] = carry += s3;
  }
  return scan_rest(x + i, out + i, carry, count - i);
}

ScanRow<float> scan_row_f32() { return scan_f32; }
ScanRow<double> scan_row_f64() { return scan_f64; }

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
HWY_EXPORT(scan_row_f32);
HWY_EXPORT(scan_row_f64);
template <>
ScanRow<float> scan_row<float>() {
  static const ScanRow<float> row = HWY_DYNAMIC_DISPATCH(scan_row_f32)();
  return row;
}
template <>
ScanRow<double> scan_row<double>() {
  static const ScanRow<double> row = HWY_DYNAMIC_DISPATCH(scan_row_f64)();
  return row;
}
}  // namespace tutti::kernels
#endif

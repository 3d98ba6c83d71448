#include "tutti/kernels/cpu/pool_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tutti/kernels/cpu/pool_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "hwy/highway.h"

// Plain loops that the compiler vectorises for the instruction set at hand.
HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

struct Larger {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    return b > a || b != b ? b : a;  // once a is a NaN, no b is larger
  }
};
struct Sum {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};

template <class T, class F>
void pool_row(const T* x, std::int64_t stride, T* out, std::int64_t count) {
  const F f;
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(out[i], x[i]);
  } else if (stride == 2) {
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(out[i], x[2 * i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(out[i], x[stride * i]);
  }
}

template <class T>
PoolRows<T> make_pool_rows() {
  return {pool_row<T, Larger>, pool_row<T, Sum>};
}
PoolRows<std::int32_t> pool_rows_i32() { return make_pool_rows<std::int32_t>(); }
PoolRows<std::int64_t> pool_rows_i64() { return make_pool_rows<std::int64_t>(); }
PoolRows<float> pool_rows_f32() { return make_pool_rows<float>(); }
PoolRows<double> pool_rows_f64() { return make_pool_rows<double>(); }

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tutti::kernels {
#define TUTTI_POOL_ROWS(T, name)                                  \
  HWY_EXPORT(name);                                               \
  template <>                                                     \
  const PoolRows<T>& pool_rows<T>() {                             \
    static const PoolRows<T> rows = HWY_DYNAMIC_DISPATCH(name)(); \
    return rows;                                                  \
  }
TUTTI_POOL_ROWS(std::int32_t, pool_rows_i32)
TUTTI_POOL_ROWS(std::int64_t, pool_rows_i64)
TUTTI_POOL_ROWS(float, pool_rows_f32)
TUTTI_POOL_ROWS(double, pool_rows_f64)
#undef TUTTI_POOL_ROWS
}  // namespace tutti::kernels
#endif

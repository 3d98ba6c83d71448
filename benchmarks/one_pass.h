// gelu(x * w + b) * m + r by hand: one loop over all of it, with the gelu of our kernels. Compiled once per instruction set, for
// hwy/foreach_target.h: hence the odd guard.
#if defined(TUTTI_BENCHMARKS_ONE_PASS) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_BENCHMARKS_ONE_PASS
#undef TUTTI_BENCHMARKS_ONE_PASS
#else
#define TUTTI_BENCHMARKS_ONE_PASS
#endif

#include "tutti/exec/scalar_op.h"
#include "tutti/kernels/cpu/row_loops.h"

HWY_BEFORE_NAMESPACE();
namespace tutti::kernels::HWY_NAMESPACE {

// A multiple of a vector's elements, on aligned addresses.
inline void one_pass(const float* x, const float* w, const float* b, const float* m, const float* r, float* out,
                     std::size_t count) {
  const WideTag<float> d;
  const VectorMath<WideTag<float>> math;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto inner = hn::Add(hn::Mul(hn::LoadU(d, x + i), hn::LoadU(d, w + i)), hn::LoadU(d, b + i));
    const auto outer = hn::Add(hn::Mul(Gelu::apply(math, inner), hn::LoadU(d, m + i)), hn::LoadU(d, r + i));
    hn::Stream(outer, d, out + i);
  }
  hwy::FlushStream();
}

}  // namespace tutti::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// Products of f32 on tensor cores, 16 x 8 x 8 at a time: either rounded to tf32, or each number as a sum of two, so that
// products are right to 2^-21 or so.
#pragma once

namespace tutti::kernels::cuda {

// What a lane holds of 16 rows and 8 columns: rows lane / 4 and that + 8, of each columns 2 * (lane % 4) and the next.
struct Sums16x8 {
  float of[4] = {};
};

template <bool exact, int count>
struct Tf32 {
  unsigned high[count];
  unsigned low[exact ? count : 1];

  // To the nearest of 11 bits; the tensor cores ignore the others.
  __device__ __forceinline__ void set(int i, float x, unsigned half = 0x1000U) {
    const unsigned bits = __float_as_uint(x) + half;
    if constexpr (exact) {
      high[i] = bits & 0xffffe000U;
      low[i] = __float_as_uint(x - __uint_as_float(high[i]));
    } else {
      asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(high[i]) : "f"(x));
    }
  }
};

// Element (lane / 4, lane % 4) of a 16 x 8 operand, then those 8 rows below, 4 columns on, and both; or of an 8 x 8 one, whose
// columns are given as rows, with that 4 columns on.
template <bool exact>
using Left16x8 = Tf32<exact, 4>;
template <bool exact>
using Right8x8 = Tf32<exact, 2>;

__device__ __forceinline__ void multiply_add(Sums16x8& c, const unsigned (&a)[4], const unsigned (&b)[2]) {
#if __CUDA_ARCH__ >= 800  // nobody launches it elsewhere
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c.of[0]), "+f"(c.of[1]), "+f"(c.of[2]), "+f"(c.of[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

template <bool exact>
__device__ __forceinline__ void multiply_add(Sums16x8& c, const Left16x8<exact>& a, const Right8x8<exact>& b) {
  if constexpr (exact) {
    multiply_add(c, a.low, b.high);
    multiply_add(c, a.high, b.low);
  }
  multiply_add(c, a.high, b.high);
}

}  // namespace tutti::kernels::cuda

#include <tutti/tensor/dtype_visit.h>
#include "kernels/operands.h"
#include "kernels/random_checks.h"

namespace tutti::testing {

namespace {

// The oracle: everything is exact in long double; rounding to half precision is done by trying the neighbours.
template <class T>
long double exactly(T x) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return static_cast<long double>(static_cast<float>(x));
  } else {
    return static_cast<long double>(x);
  }
}

template <class Half>
Half nearest_half(long double x) {
  const bool is_negative = std::signbit(x);
  if (std::isnan(x)) return Half(std::numeric_limits<float>::quiet_NaN());
  std::uint16_t low = 0;
  std::uint16_t high = std::is_same_v<Half, f16> ? 0x7c00 : 0x7f80;  // infinity
  const auto value = [high](std::uint16_t bits) -> long double {
    if (bits == high) return std::is_same_v<Half, f16> ? 65536.0L : std::ldexp(1.0L, 128);  // where the next value would be
    Half half;
    half.bits = bits;
    return exactly(half);
  };
  const long double size = std::abs(x);
  std::uint16_t top = high;
  while (low + 1 < top) {
    const auto middle = static_cast<std::uint16_t>((low + top) / 2);
    (value(middle) <= size ? low : top) = middle;
  }
  if (size >= value(high)) low = top = high;
  const long double below = size - value(low);
  const long double above = value(top) - size;
  Half result;
  result.bits = below < above || (below == above && (low & 1U) == 0) ? low : top;
  if (low == top) result.bits = high;
  if (is_negative) result.bits = static_cast<std::uint16_t>(result.bits | 0x8000U);
  return result;
}

template <class To, class From>
To expected_cast(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return exactly(x) != 0;
  } else if constexpr (std::is_same_v<To, f16> || std::is_same_v<To, bf16>) {
    return nearest_half<To>(exactly(x));
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(exactly(x));
  } else if constexpr (std::is_integral_v<From>) {
    return static_cast<To>(static_cast<std::uint64_t>(x));
  } else {
    const long double value = exactly(x);
    if (std::isnan(value)) return 0;
    if (value <= static_cast<long double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (value >= static_cast<long double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    return static_cast<To>(value);
  }
}

// Values around every edge that matters, among random ones.
void fill_with_edges(Array& array, Random& random) {
  array.fill(random, true);
  constexpr long double inf = std::numeric_limits<long double>::infinity();
  constexpr long double nan = std::numeric_limits<long double>::quiet_NaN();
  static const std::vector<long double> edges{0.0L,
                                              -0.0L,
                                              0.99L,
                                              -0.99L,
                                              127,
                                              128,
                                              -128,
                                              -129,
                                              255,
                                              256,
                                              32767,
                                              32768,
                                              65504,
                                              65519.9L,
                                              65520,
                                              65536,
                                              1e-8L,
                                              5.96e-8L,
                                              2.98e-8L,
                                              1e-40L,
                                              3.4e38L,
                                              1e39L,
                                              inf,
                                              -inf,
                                              nan,
                                              9.3e18L,
                                              -9.3e18L,
                                              16777217,
                                              2147483647.0L,
                                              2147483648.0L,
                                              -2147483648.0L,
                                              -2147483649.0L,
                                              9.223372036854775807e18L,
                                              1 + 0x1p-9L,
                                              1 + 0x1p-9L + 0x1p-40L,
                                              1 + 0x1p-12L + 0x1p-40L,
                                              4611686018427387904.0L + 18014398509481984.0L + 1};
  for (std::int64_t i = 0; i < array.count(); ++i) {
    if (pick(random, 0, 2) != 0) continue;
    const long double edge = edges[static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(edges.size()) - 1))];
    visit_dtype(array.operand().dtype, [&]<class T>(T) {
      if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
        array.set<T>(i, nearest_half<T>(edge));
      } else if constexpr (std::is_floating_point_v<T>) {
        array.set<T>(i, static_cast<T>(edge));
      } else if constexpr (!std::is_same_v<T, bool>) {
        if (std::abs(edge) < 9.2e18L) array.set<T>(i, static_cast<T>(static_cast<std::int64_t>(edge)));
      }
    });
  }
}

}  // namespace

void check_casts(std::uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Random random(seed);
  Threads threads(2);
  for (const DType from : all_dtypes) {
    for (const DType to : all_dtypes) {
      SCOPED_TRACE(::testing::Message() << to_string(from) << " to " << to_string(to));
      const Sizes sizes = pick(random, 0, 30) == 0 ? Sizes{70001} : random_sizes(random);
      Array in(from, sizes, random_lie(random), random);
      fill_with_edges(in, random);
      const Array out(to, sizes, random_lie(random, false), random);
      const auto before = out.surroundings();
      run_kernel(host_kernel("Cast"), threads, {&in}, out);
      EXPECT_EQ(out.surroundings(), before);
      visit_dtype(from, [&]<class From>(From) {
        visit_dtype(to, [&]<class To>(To) {
          for (std::int64_t i = 0; i < in.count(); ++i) {
            const To wanted = from == to ? out.get<To>(i) : expected_cast<To>(in.get<From>(i));
            ASSERT_TRUE(same(out.get<To>(i), wanted))
                << printable(in.get<From>(i)) << " became " << printable(out.get<To>(i)) << ", not " << printable(wanted);
          }
        });
      });
    }
  }
}

TEST(Cast, RoundsSaturatesAndWrapsBetweenEveryTwoDtypes) {
  for (std::uint64_t seed = 1; seed <= 12 && !HasFailure(); ++seed) check_casts(seed);
}

// Rounding adds to the bits: a NaN whose bits are nearly all set must not become another number.
TEST(Cast, EveryHalfThatIsNotANumberStaysOne) {
  Random random(3);
  Threads threads(2);
  for (const DType from : {DType::f16, DType::bf16}) {
    Array in(from, {65536}, Lie::dense, random);
    for (std::int64_t i = 0; i < in.count(); ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      std::memcpy(in.operand().data + i * 2, &bits, sizeof bits);
    }
    for (const DType to : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      if (from == to) continue;
      const Array out(to, {65536}, Lie::dense, random);
      run_kernel(host_kernel("Cast"), threads, {&in}, out);
      visit_dtype(from, [&]<class From>(From) {
        visit_dtype(to, [&]<class To>(To) {
          for (std::int64_t i = 0; i < in.count(); ++i) {
            ASSERT_EQ(std::isnan(exactly(out.get<To>(i))), std::isnan(exactly(in.get<From>(i))))
                << to_string(from) << " with the bits " << i << " became " << printable(out.get<To>(i));
          }
        });
      });
    }
  }
}

TEST(Copy, FillsAnyLayoutFromOneElement) {
  Random random(2);
  Threads threads(2);
  for (const DType dtype : all_dtypes) {
    for (const Lie lie : {Lie::dense, Lie::scattered}) {
      Array one(dtype, {}, Lie::dense, random);
      one.fill(random);
      const Array out(dtype, {7, 19, 600}, lie, random);
      const auto before = out.surroundings();
      run_kernel(host_kernel("_Copy"), threads, {&one}, out);
      EXPECT_EQ(out.surroundings(), before);
      visit_dtype(dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < out.count(); ++i) ASSERT_TRUE(same(out.get<T>(i), one.get<T>(0)));
      });
    }
  }
}

TEST(Copy, TransposesMatricesOfEverySizeAndBatch) {
  Random random(4);
  Threads threads(3);
  for (const DType dtype : {DType::u8, DType::f16, DType::f32, DType::f64}) {
    for (const Sizes& sizes : {Sizes{1, 33, 70}, Sizes{3, 129, 64}, Sizes{2, 300, 257}, Sizes{1, 8, 8}}) {
      Array in(dtype, sizes, Lie::dense, random);
      in.fill(random);
      Operand swapped = in.operand();
      std::swap(swapped.axes[1], swapped.axes[2]);
      const Array out(dtype, {sizes[0], sizes[2], sizes[1]}, Lie::dense, random);
      std::array<Operand, 2> operands{swapped, out.operand()};
      KernelCall call;
      call.inputs = call.outputs = 1;
      call.operands = operands.data();
      KernelContext context{threads};
      host_kernel("_Copy")(call, context);
      visit_dtype(dtype, [&]<class T>(T) {
        for (std::int64_t b = 0; b < sizes[0]; ++b) {
          for (std::int64_t r = 0; r < sizes[1]; ++r) {
            for (std::int64_t c = 0; c < sizes[2]; ++c) {
              ASSERT_TRUE(same(out.get<T>((b * sizes[2] + c) * sizes[1] + r), in.get<T>((b * sizes[1] + r) * sizes[2] + c)));
            }
          }
        }
      });
    }
  }
}

}  // namespace tutti::testing

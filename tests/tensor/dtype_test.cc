// Half precision held against the compiler's own, over every value there is.
#include "tutti/tensor/dtype_visit.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tutti/base/error.h"

namespace tutti {
namespace {

__extension__ using Reference = _Float16;

std::uint16_t reference_bits(float x) { return std::bit_cast<std::uint16_t>(static_cast<Reference>(x)); }

f16 half_of(std::uint16_t bits) {
  f16 out;
  out.bits = bits;
  return out;
}
bf16 brain_of(std::uint16_t bits) {
  bf16 out;
  out.bits = bits;
  return out;
}

TEST(HalfPrecision, WidensExactly) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto found = static_cast<float>(half_of(static_cast<std::uint16_t>(bits)));
    const auto expected = static_cast<float>(std::bit_cast<Reference>(static_cast<std::uint16_t>(bits)));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected)) << bits;
    }
  }
}

TEST(HalfPrecision, ComesBackAsItWas) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const f16 half = half_of(static_cast<std::uint16_t>(bits));
    const bf16 brain = brain_of(static_cast<std::uint16_t>(bits));
    ASSERT_TRUE(std::isnan(static_cast<float>(half)) || f16(static_cast<float>(half)).bits == bits) << bits;
    ASSERT_TRUE(std::isnan(static_cast<float>(brain)) || bf16(static_cast<float>(brain)).bits == bits) << bits;
  }
}

TEST(HalfPrecision, RoundsToNearestTiesToEvenAtEveryBoundary) {
  // Around every half value and around the middle between it and the next.
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const auto low = static_cast<float>(half_of(static_cast<std::uint16_t>(bits)));
    const float high = bits == 0x7bff ? 65536.0F : static_cast<float>(half_of(static_cast<std::uint16_t>(bits + 1)));
    const float middle = low + (high - low) / 2;
    for (const float x : {low, middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)}) {
      ASSERT_EQ(f16(x).bits, reference_bits(x)) << x;
      ASSERT_EQ(f16(-x).bits, reference_bits(-x)) << -x;
    }
  }
}

TEST(HalfPrecision, RoundsAnyFloatAsTheCompilerDoes) {
  const std::uint64_t seed = 20;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2'000'000; ++i) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(static_cast<float>(f16(x))));
      ASSERT_TRUE(std::isnan(static_cast<float>(bf16(x))));
      continue;
    }
    ASSERT_EQ(f16(x).bits, reference_bits(x)) << x;
    // A bfloat16 is as near as any, and even where two are.
    const auto found = static_cast<float>(bf16(x));
    const std::uint32_t raw = std::bit_cast<std::uint32_t>(x);
    const float down = std::bit_cast<float>(raw & 0xffff0000U);
    const std::uint32_t up_bits = (raw & 0xffff0000U) + 0x10000U;
    const std::uint32_t rest = raw & 0xffffU;
    const float expected = rest < 0x8000U || (rest == 0x8000U && (raw & 0x10000U) == 0) ? down : std::bit_cast<float>(up_bits);
    ASSERT_EQ(std::bit_cast<std::uint32_t>(found), std::bit_cast<std::uint32_t>(expected)) << x;
  }
}

TEST(DTypes, KnowTheirNamesAndSizes) {
  EXPECT_EQ(to_string(DType::bf16), "bfloat16");
  EXPECT_EQ(to_string(DType::boolean), "bool");
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    visit_dtype(dtype, [&](auto element) {
      EXPECT_EQ(sizeof element, size_of(dtype));
      EXPECT_EQ(dtype_of<decltype(element)>, dtype);
    });
  }
}

TEST(VisitDType, RefusesWhatItWasNotCompiledFor) {
  const auto size = [](auto element) { return sizeof(element); };
  EXPECT_EQ(visit_dtype<wide_floats>(DType::f32, size), 4U);
  EXPECT_EQ(visit_dtype<wide_floats>(DType::f64, size), 8U);
  EXPECT_THROW(visit_dtype<wide_floats>(DType::bf16, size), InvalidArgument);
  EXPECT_THROW(visit_dtype<index_dtypes>(DType::boolean, size), InvalidArgument);
  EXPECT_EQ(visit_size(2, size), 2U);
  EXPECT_THROW(visit_size(3, size), InvalidArgument);
}

}  // namespace
}  // namespace tutti

#include <tutti/tensor/dtype_visit.h>
#include "kernels/operands.h"
#include "kernels/random_checks.h"
#include "tutti/exec/box_muller.h"
#include "tutti/exec/philox.h"
#include "tutti/exec/random_attributes.h"

namespace tutti::testing {

namespace {

// The words of a draw, one block at a time, straight from the published algorithm.
std::uint32_t word(const UniformAttributes& draw, std::int64_t i) {
  return Philox::block(draw.key, draw.counter + static_cast<std::uint64_t>(i / 4))[static_cast<std::size_t>(i % 4)];
}
std::uint64_t bits(const UniformAttributes& draw, std::int64_t i) {
  const auto block = Philox::block(draw.key, draw.counter + static_cast<std::uint64_t>(i / 2));
  const std::size_t first = i % 2 == 0 ? 0 : 2;
  return static_cast<std::uint64_t>(block[first + 1]) << 32U | block[first];
}

Array draw_into(DType dtype, const Sizes& sizes, Lie lie, const UniformAttributes& draw, Parallel& parallel) {
  Random random(1);
  Array out(dtype, sizes, lie, random);
  run_kernel(host_kernel("RandomUniform"), parallel, {}, out, draw);
  return out;
}

// Each operation rounded once, by calls that any machine answers alike.
template <class T>
struct PlainMath {
  static T mul(T a, T b) { return a * b; }
  static T add(T a, T b) { return a + b; }
  static T div(T a, T b) { return a / b; }
  static T mul_add(T a, T b, T c) { return std::fma(a, b, c); }
};

template <class T>
T plain_normal(const NormalAttributes& draw, std::int64_t i) {
  const UniformAttributes words{draw.key, draw.counter, 0, 1};
  const std::int64_t pair = i / 2 * 2;
  PolarNormal<T> drawn;
  if constexpr (sizeof(T) == 8) {
    drawn = BoxMuller<T, PlainMath<T>>::of(bits(words, pair), bits(words, pair + 1));
  } else {
    drawn = BoxMuller<T, PlainMath<T>>::of(word(words, pair), word(words, pair + 1));
  }
  const T z = std::sqrt(drawn.square) * (i % 2 == 0 ? drawn.cosine : drawn.sine);
  const T scaled = z * static_cast<T>(draw.stddev);
  return scaled + static_cast<T>(draw.mean);
}

// The same bits in every instruction set, with a fused multiply-add or without.
void check_normals(Parallel& parallel) {
  const NormalAttributes draw{0x0123456789abcdefULL, 0xfffffffeULL, 0.25, 3};
  for (const Lie lie : {Lie::dense, Lie::scattered}) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      Random random(1);
      Array out(dtype, {3, 41, 67}, lie, random);
      run_kernel(host_kernel("RandomStandardNormal"), parallel, {}, out, draw);
      for (std::int64_t i = 0; i < out.count(); ++i) {
        visit_dtype(dtype, [&]<class T>(T) {
          if constexpr (std::is_same_v<T, double>) {
            ASSERT_EQ(out.get<T>(i), plain_normal<double>(draw, i)) << i;
          } else if constexpr (!std::is_integral_v<T>) {
            ASSERT_EQ(static_cast<float>(out.get<T>(i)), static_cast<float>(T(plain_normal<float>(draw, i)))) << i;
          }
        });
      }
    }
  }
}

}  // namespace

void check_random_numbers() {
  Threads threads(3);
  check_normals(threads);
  const Sizes sizes{3, 41, 567};
  const UniformAttributes unit{0x0123456789abcdefULL, 0xfffffffeULL, 0, 1};
  for (const Lie lie : {Lie::dense, Lie::scattered}) {
    const Array f32s = draw_into(DType::f32, sizes, lie, unit, threads);
    const Array f64s = draw_into(DType::f64, sizes, lie, unit, threads);
    const Array f16s = draw_into(DType::f16, sizes, lie, unit, threads);
    const Array bf16s = draw_into(DType::bf16, sizes, lie, unit, threads);
    const Array bools = draw_into(DType::boolean, sizes, lie, unit, threads);
    for (std::int64_t i = 0; i < f32s.count(); ++i) {
      const std::uint32_t w = word(unit, i);
      ASSERT_EQ(f32s.get<float>(i), static_cast<float>(w >> 8U) * 0x1p-24F) << i;
      ASSERT_EQ(f64s.get<double>(i), static_cast<double>(bits(unit, i) >> 11U) * 0x1p-53) << i;
      ASSERT_EQ(static_cast<float>(f16s.get<f16>(i)), static_cast<float>(w >> 21U) * 0x1p-11F) << i;
      ASSERT_EQ(static_cast<float>(bf16s.get<bf16>(i)), static_cast<float>(w >> 24U) * 0x1p-8F) << i;
      ASSERT_EQ(bools.get<bool>(i), w >> 31U != 0) << i;
    }
  }
  const UniformAttributes range{99, 1234567, -100, 27};
  for (const DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64}) {
    const Array out = draw_into(dtype, sizes, Lie::dense, range, threads);
    visit_dtype(dtype, [&]<class T>(T) {
      if constexpr (std::is_integral_v<T>) {
        for (std::int64_t i = 0; i < out.count(); ++i) {
          const std::uint64_t high = dtype == DType::i64 ? bits(range, i) >> 32U : word(range, i);
          const auto value = static_cast<std::int64_t>(out.get<T>(i));
          // 127 values: the upper 32 bits decide but for the rarest of cases.
          ASSERT_LE(std::abs(value - (static_cast<std::int64_t>(high * 127 >> 32U) - 100)), dtype == DType::i64 ? 1 : 0) << i;
          ASSERT_TRUE(value >= -100 && value < 27);
        }
      }
    });
  }
}

TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(Philox::mix({0, 0, 0, 0}, 0, 0), (Philox::Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t ones = 0xffffffffU;
  EXPECT_EQ(Philox::mix({ones, ones, ones, ones}, ones, ones), (Philox::Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox::mix({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Philox::Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomUniform, FollowsItsWrittenLayoutInEveryDtypeAndOnAnyCore) { check_random_numbers(); }

TEST(RandomUniform, StaysBetweenLowAndHighEvenWhereRoundingWouldLeave) {
  Serial serial;
  for (const auto& [low, high] :
       std::vector<std::pair<double, double>>{{0, 1}, {1, 2}, {-1, 0}, {1000, 1001}, {-3, -2}, {999.9, 1004}, {0.3, 0.7}}) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
      const Array out = draw_into(dtype, {100000}, Lie::dense, {5, 6, low, high}, serial);
      visit_dtype(dtype, [&]<class T>(T) {
        double least = std::numeric_limits<double>::infinity();
        double most = -least;
        for (std::int64_t i = 0; i < out.count(); ++i) {
          least = std::min(least, printable(out.get<T>(i)));
          most = std::max(most, printable(out.get<T>(i)));
        }
        EXPECT_GE(least, low) << to_string(dtype);
        EXPECT_LT(most, high) << to_string(dtype);
      });
    }
  }
}

TEST(RandomUniform, IntegersCoverTheirWholeRangeEvenly) {
  Serial serial;
  const Array out = draw_into(DType::u8, {256000}, Lie::dense, {5, 6, 0, 256}, serial);
  std::array<int, 256> seen{};
  for (std::int64_t i = 0; i < out.count(); ++i) ++seen[out.get<std::uint8_t>(i)];
  for (const int times : seen) {
    EXPECT_GT(times, 800);
    EXPECT_LT(times, 1200);
  }
  const Array wide = draw_into(DType::i64, {1000}, Lie::dense, {5, 6, -0x1p63, 0x1p63}, serial);
  int negative = 0;
  for (std::int64_t i = 0; i < wide.count(); ++i) negative += wide.get<std::int64_t>(i) < 0 ? 1 : 0;
  EXPECT_GT(negative, 400);
  EXPECT_LT(negative, 600);
}

}  // namespace tutti::testing

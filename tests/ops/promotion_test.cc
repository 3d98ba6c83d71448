// What dtype comes out when two meet: the Python array API's table, written out, and our rules where it is silent.
#include <gtest/gtest.h>

#include <cmath>

#include <map>
#include <utility>

#include "ops/elements.h"

namespace tutti {
namespace {

using testing_ops::all_dtypes;
using enum DType;

// Array API 2022.12, "Type Promotion Rules", for the dtypes we have. It says nothing about bool with numbers, integers
// with floats, or bfloat16.
const std::map<std::pair<DType, DType>, DType> array_api{
    {{boolean, boolean}, boolean},
    {{i8, i8}, i8},
    {{i8, i16}, i16},
    {{i8, i32}, i32},
    {{i8, i64}, i64},
    {{i16, i8}, i16},
    {{i16, i16}, i16},
    {{i16, i32}, i32},
    {{i16, i64}, i64},
    {{i32, i8}, i32},
    {{i32, i16}, i32},
    {{i32, i32}, i32},
    {{i32, i64}, i64},
    {{i64, i8}, i64},
    {{i64, i16}, i64},
    {{i64, i32}, i64},
    {{i64, i64}, i64},
    {{u8, u8}, u8},
    {{i8, u8}, i16},
    {{i16, u8}, i16},
    {{i32, u8}, i32},
    {{i64, u8}, i64},
    {{u8, i8}, i16},
    {{u8, i16}, i16},
    {{u8, i32}, i32},
    {{u8, i64}, i64},
    {{f32, f32}, f32},
    {{f32, f64}, f64},
    {{f64, f32}, f64},
    {{f64, f64}, f64},
};

// The rest, row by row: what `a` (the row) gives with bool, u8, i8, i16, i32, i64, f16, bf16, f32, f64.
constexpr DType ours[dtype_count][dtype_count] = {
    /* bool */ {boolean, u8, i8, i16, i32, i64, f16, bf16, f32, f64},
    /* u8   */ {u8, u8, i16, i16, i32, i64, f16, bf16, f32, f64},
    /* i8   */ {i8, i16, i8, i16, i32, i64, f16, bf16, f32, f64},
    /* i16  */ {i16, i16, i16, i16, i32, i64, f16, bf16, f32, f64},
    /* i32  */ {i32, i32, i32, i32, i32, i64, f16, bf16, f32, f64},
    /* i64  */ {i64, i64, i64, i64, i64, i64, f16, bf16, f32, f64},
    /* f16  */ {f16, f16, f16, f16, f16, f16, f16, f32, f32, f64},
    /* bf16 */ {bf16, bf16, bf16, bf16, bf16, bf16, f32, bf16, f32, f64},
    /* f32  */ {f32, f32, f32, f32, f32, f32, f32, f32, f32, f64},
    /* f64  */ {f64, f64, f64, f64, f64, f64, f64, f64, f64, f64},
};

TEST(Promotion, FollowsTheArrayApiAndOurRulesWhereItIsSilent) {
  for (const DType a : all_dtypes) {
    for (const DType b : all_dtypes) {
      const DType expected = ours[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
      EXPECT_EQ(promote(a, b), expected) << to_string(a) << " with " << to_string(b) << " gave " << to_string(promote(a, b));
      const auto stated = array_api.find({a, b});
      if (stated != array_api.end()) {
        EXPECT_EQ(expected, stated->second) << "our table departs from the array API at " << to_string(a) << ", " << to_string(b);
      }
    }
  }
}

TEST(Promotion, IsWhatEveryOpOfTwoTensorsDoes) {
  for (const DType a : all_dtypes) {
    for (const DType b : all_dtypes) {
      SCOPED_TRACE(std::string(to_string(a)) + " with " + std::string(to_string(b)));
      const Tensor x = ones({1, 1}, a);
      const Tensor y = ones({1, 1}, b);
      const DType expected = ours[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
      EXPECT_EQ((x + y).dtype(), expected);
      EXPECT_EQ((x * y).dtype(), expected);
      EXPECT_EQ(matmul(x, y).dtype(), expected);
      EXPECT_EQ(where(constant(true), x, y).dtype(), expected);
    }
  }
}

TEST(WeakNumbers, TakeTheTensorsDTypeWhereTheirKindAllows) {
  for (const DType dtype : all_dtypes) {
    SCOPED_TRACE(to_string(dtype));
    const Tensor x = ones({2}, dtype);
    EXPECT_EQ((x + true).dtype(), dtype);
    EXPECT_EQ((true + x).dtype(), dtype);
    EXPECT_EQ((x * 1).dtype(), dtype == boolean ? i64 : dtype);
    EXPECT_EQ((x * 1U).dtype(), dtype == boolean ? i64 : dtype);
    EXPECT_EQ((x * std::int64_t{1}).dtype(), dtype == boolean ? i64 : dtype);
    EXPECT_EQ((x * 0.5).dtype(), is_floating(dtype) ? dtype : f32);
    EXPECT_EQ((x * 0.5F).dtype(), is_floating(dtype) ? dtype : f32);
    EXPECT_EQ(where(constant(true), x, 2).dtype(), dtype == boolean ? i64 : dtype);
  }
}

TEST(WeakNumbers, KeepTheirValue) {
  EXPECT_EQ(read<std::uint8_t>(constant({std::uint8_t{1}}) + 254), std::vector<std::uint8_t>{255});
  EXPECT_EQ(read<std::int8_t>(constant({std::int8_t{1}}) + -128), std::vector<std::int8_t>{-127});
  EXPECT_EQ(read<std::int64_t>(constant({std::int64_t{0}}) + INT64_MAX), std::vector<std::int64_t>{INT64_MAX});
  EXPECT_EQ(read<float>(constant({1, 2}) * 0.5), (std::vector<float>{0.5F, 1.0F}));
  EXPECT_EQ(read<double>(constant({1.0}) * 0.1), std::vector<double>{0.1});
  EXPECT_EQ(item<float>(add(1.5, 2)), 3.5F);
  EXPECT_EQ(item<std::int64_t>(add(1, 2)), 3);
}

template <class Call>
std::string refusal(Call&& call) {
  try {
    call();
  } catch (const InvalidArgument& e) {
    return e.message();
  }
  return {};
}

TEST(WeakNumbers, AreRefusedWhereTheyDoNotFit) {
  const Tensor x = ones({2}, u8);
  EXPECT_EQ(refusal([&] { x + 300; }),
            "the number 300 does not fit in uint8; use a dtype that holds it, or cast the tensor to one first");
  EXPECT_NE(refusal([&] { x * -1; }), "");
  EXPECT_NE(refusal([&] { ones({1}, i8) + 128; }), "");
  EXPECT_NE(refusal([&] { ones({1}, i32) + 3'000'000'000; }), "");
  EXPECT_NE(refusal([&] { ones({1}, i64) + UINT64_MAX; }), "") << "it must not become -1";
  EXPECT_NE(refusal([&] { ones({1}, f32) + UINT64_MAX; }), "");
  EXPECT_NE(refusal([&] { full({2}, 300, u8); }), "");
  EXPECT_EQ(refusal([&] { full({2}, 2.5, i32); }),
            "the number 2.5 does not fit in int32; use a dtype that holds it, or cast the tensor to one first");
  EXPECT_NE(refusal([&] { full({2}, std::nan(""), i32); }), "");
  EXPECT_NE(refusal([&] { full({2}, 1e300, i64); }), "");
  EXPECT_EQ(read<std::int32_t>(full({2}, 3.0, i32)), (std::vector{3, 3}));
}

}  // namespace
}  // namespace tutti

#include <tutti/tensor/dtype_visit.h>
#include "kernels/operands.h"
#include "kernels/random_checks.h"
#include "tutti/base/error.h"
#include "tutti/exec/indexing_attributes.h"

namespace tutti::testing {

namespace {

std::vector<std::int64_t> places_of_nonzero(const Array& in) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < in.count(); ++i) {
    visit_dtype(in.operand().dtype, [&]<class T>(T) {
      if (printable(in.get<T>(i)) != 0) places.push_back(i);
    });
  }
  return places;
}

void check_nonzero(const Array& in, Random& random, Parallel& parallel) {
  const auto places = places_of_nonzero(in);
  const Array count(DType::i64, {}, Lie::dense, random);
  run_kernel(host_kernel("CountNonzero"), parallel, {&in}, count);
  ASSERT_EQ(count.get<std::int64_t>(0), static_cast<std::int64_t>(places.size()));
  const auto rank = static_cast<std::int64_t>(in.sizes().size());
  const Array out(DType::i64, {static_cast<std::int64_t>(places.size()), rank}, random_lie(random, false), random);
  run_kernel(host_kernel("NonZero"), parallel, {&in}, out, NonzeroAttributes{});
  for (std::size_t row = 0; row < places.size(); ++row) {
    std::int64_t rest = places[row];
    for (std::int64_t axis = rank; axis-- > 0;) {
      const std::int64_t size = in.sizes()[static_cast<std::size_t>(axis)];
      ASSERT_EQ(out.get<std::int64_t>(static_cast<std::int64_t>(row) * rank + axis), rest % size);
      rest /= size;
    }
  }
}

void check_take(DType dtype, const Sizes& sizes, std::size_t axis, const Sizes& index_sizes, Random& random, Parallel& parallel) {
  Array x(dtype, sizes, random_lie(random), random);
  x.fill(random, true);
  const DType index_dtype = pick(random, 0, 1) == 0 ? DType::i32 : DType::i64;
  Array indices(index_dtype, index_sizes, random_lie(random), random);
  const std::int64_t size = sizes[axis];
  if (size == 0) return;
  for (std::int64_t i = 0; i < indices.count(); ++i) {
    const std::int64_t index = pick(random, -size, size - 1);
    if (index_dtype == DType::i32) indices.set(i, static_cast<std::int32_t>(index));
    if (index_dtype == DType::i64) indices.set(i, index);
  }
  Sizes out_sizes(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(axis));
  out_sizes.insert(out_sizes.end(), index_sizes.begin(), index_sizes.end());
  out_sizes.insert(out_sizes.end(), sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1, sizes.end());
  const Array out(dtype, out_sizes, random_lie(random, false), random);
  const auto before = out.surroundings();
  run_kernel(host_kernel("GatherV2"), parallel, {&x, &indices}, out, TakeAttributes{static_cast<std::int32_t>(axis)});
  EXPECT_EQ(out.surroundings(), before);
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < sizes.size(); ++i) inner *= sizes[i];
  visit_dtype(dtype, [&]<class T>(T) {
    for (std::int64_t at = 0; at < out.count(); ++at) {
      const std::int64_t which = at / inner % indices.count();
      std::int64_t index = index_dtype == DType::i32 ? indices.get<std::int32_t>(which) : indices.get<std::int64_t>(which);
      if (index < 0) index += size;
      const std::int64_t outer = at / inner / indices.count();
      ASSERT_TRUE(same(out.get<T>(at), x.get<T>((outer * size + index) * inner + at % inner))) << "element " << at;
    }
  });
}

}  // namespace

void check_indexing(std::uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Random random(seed);
  Threads threads(3);
  for (const DType dtype : all_dtypes) {
    SCOPED_TRACE(to_string(dtype));
    Array in(dtype, random_sizes(random), random_lie(random), random);
    in.fill(random);
    check_nonzero(in, random, threads);
    Sizes sizes = random_sizes(random);
    if (sizes.empty()) sizes = {5};
    const auto axis = static_cast<std::size_t>(pick(random, 0, static_cast<std::int64_t>(sizes.size()) - 1));
    check_take(dtype, sizes, axis, random_sizes(random, 2), random, threads);
  }
}

TEST(Indexing, NonzeroAndTakeAgreeWithPlainLoops) {
  for (std::uint64_t seed = 1; seed <= 50 && !HasFailure(); ++seed) check_indexing(seed);
}

TEST(Indexing, LargeArraysAreSplitOverCoresRightly) {
  Random random(2);
  Threads threads(3);
  Array in(DType::i16, {500, 400}, Lie::scattered, random);
  in.fill(random);
  check_nonzero(in, random, threads);
  check_take(DType::f32, {100000}, 0, {150000}, random, threads);
  check_take(DType::f32, {300, 50}, 0, {4000}, random, threads);
  check_take(DType::u8, {20, 300, 3}, 1, {70, 40}, random, threads);
}

TEST(NonZero, ANanCountsAndANegativeZeroDoesNot) {
  Random random(2);
  Serial serial;
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    visit_dtype(dtype, [&]<class T>(T) {
      if constexpr (!std::is_integral_v<T>) {
        Array in(dtype, {3}, Lie::dense, random);
        in.set(0, T(-0.0F));
        in.set(1, T(std::numeric_limits<float>::quiet_NaN()));
        in.set(2, T(0.0F));
        const Array count(DType::i64, {}, Lie::dense, random);
        run_kernel(host_kernel("CountNonzero"), serial, {&in}, count);
        EXPECT_EQ(count.get<std::int64_t>(0), 1);
      }
    });
  }
}

TEST(NonZero, ACountThatDoesNotMatchTheRoomFails) {
  Random random(2);
  Serial serial;
  Array in(DType::i32, {4}, Lie::dense, random);
  for (std::int64_t i = 0; i < 4; ++i) in.set<std::int32_t>(i, 1);
  const Array out(DType::i64, {3, 1}, Lie::dense, random);
  EXPECT_THROW(run_kernel(host_kernel("NonZero"), serial, {&in}, out, NonzeroAttributes{}), KernelFailed);
}

TEST(Take, AnIndexOutOfRangeIsNamedWithItsAxisAndSize) {
  Random random(2);
  Threads threads(2);
  const Array x(DType::f32, {5, 3}, Lie::dense, random);
  for (const auto& [index, message] : {std::pair<std::int64_t, const char*>{7, "index 7 is out of range for axis 0 with size 5"},
                                       {-6, "index -6 is out of range for axis 0 with size 5"}}) {
    Array indices(DType::i64, {4}, Lie::dense, random);
    for (std::int64_t i = 0; i < 4; ++i) indices.set<std::int64_t>(i, i == 2 ? index : i);
    const Array out(DType::f32, {4, 3}, Lie::dense, random);
    try {
      run_kernel(host_kernel("GatherV2"), threads, {&x, &indices}, out, TakeAttributes{0});
      FAIL() << "nothing was thrown";
    } catch (const KernelFailed& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos) << error.what();
    }
  }
}

}  // namespace tutti::testing

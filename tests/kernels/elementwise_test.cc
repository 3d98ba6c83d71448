#include <tutti/tensor/dtype_visit.h>
#include "kernels/operands.h"
#include "kernels/random_checks.h"
#include "tutti/base/error.h"

namespace tutti::testing {

namespace {

// The oracle, one element at a time: integers modulo 2^64, half precision through double, which is exact before rounding.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return T(static_cast<float>(static_cast<double>(static_cast<float>(a)) + static_cast<double>(static_cast<float>(b))));
  } else {
    return a + b;
  }
}

template <class T>
T times(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  } else if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return T(static_cast<float>(static_cast<double>(static_cast<float>(a)) * static_cast<double>(static_cast<float>(b))));
  } else {
    return a * b;
  }
}

template <class T>
T rectified(T x) {
  if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
    return static_cast<float>(x) < 0 ? T(0.0F) : x;
  } else {
    return x < T{0} ? T{0} : x;
  }
}

template <class T, class Expected>
void expect_elements(const Array& out, Expected&& expected) {
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const T wanted = expected(i);
    const T found = out.get<T>(i);
    ASSERT_TRUE(same(found, wanted)) << "element " << i << ": " << printable(found) << ", not " << printable(wanted);
  }
}

// Runs a kernel into a fresh output of any layout.
template <class T, class Expected>
void check(const HostKernel& kernel, Parallel& parallel, std::vector<const Array*> inputs, Random& random, Expected&& expected) {
  const Array out(inputs.back()->operand().dtype, inputs.back()->sizes(), random_lie(random, false), random);
  const auto before = out.surroundings();
  run_kernel(kernel, parallel, inputs, out);
  expect_elements<T>(out, expected);
  EXPECT_EQ(out.surroundings(), before) << "wrote outside its elements";
}

bool has_an_element_each(const Operand& operand) {
  return std::all_of(operand.axes.begin(), operand.axes.begin() + operand.rank,
                     [](const Axis& axis) { return axis.size == 1 || axis.stride != 0; });
}

}  // namespace

void check_elementwise(std::uint64_t seed) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Random random(seed);
  Serial serial;
  Threads threads(3);
  for (const DType dtype : all_dtypes) {
    SCOPED_TRACE(to_string(dtype));
    Sizes sizes = random_sizes(random);
    if (pick(random, 0, 20) == 0) sizes = {3, 30000};
    Parallel& parallel = pick(random, 0, 1) == 0 ? static_cast<Parallel&>(serial) : threads;
    Array a(dtype, sizes, random_lie(random), random);
    Array b(dtype, sizes, random_lie(random), random);
    Array condition(DType::boolean, sizes, random_lie(random), random);
    a.fill(random, true);
    b.fill(random, true);
    condition.fill(random);
    visit_dtype(dtype, [&]<class T>(T) {
      check<T>(host_kernel("AddV2"), parallel, {&a, &b}, random, [&](std::int64_t i) { return plus(a.get<T>(i), b.get<T>(i)); });
      check<T>(host_kernel("Mul"), parallel, {&a, &b}, random, [&](std::int64_t i) { return times(a.get<T>(i), b.get<T>(i)); });
      check<T>(host_kernel("SelectV2"), parallel, {&condition, &a, &b}, random,
               [&](std::int64_t i) { return condition.get<bool>(i) ? a.get<T>(i) : b.get<T>(i); });
      check<T>(host_kernel("_Copy"), parallel, {&a}, random, [&](std::int64_t i) { return a.get<T>(i); });
      if (dtype != DType::boolean) {
        check<T>(host_kernel("Relu"), parallel, {&a}, random, [&](std::int64_t i) { return rectified(a.get<T>(i)); });
      }
    });
  }
}

TEST(Elementwise, AgreesWithAPlainLoopForEveryDtypeAndLayout) {
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) check_elementwise(seed);
}

TEST(Elementwise, MayWriteItsOutputOverAnInput) {
  Random random(7);
  Threads threads(2);
  for (const DType dtype : all_dtypes) {
    for (const Lie lie : {Lie::dense, Lie::scattered}) {
      SCOPED_TRACE(to_string(dtype));
      const Sizes sizes{37, 41, 90};
      Array a(dtype, sizes, lie, random);
      Array b(dtype, sizes, Lie::broadcast, random);
      a.fill(random);
      b.fill(random);
      visit_dtype(dtype, [&]<class T>(T) {
        std::vector<T> expected;
        for (std::int64_t i = 0; i < a.count(); ++i) expected.push_back(plus(a.get<T>(i), b.get<T>(i)));
        run_kernel(host_kernel("AddV2"), threads, {&a, &b}, a);
        expect_elements<T>(a, [&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; });
      });
    }
  }
}

TEST(Elementwise, LargeDenseArraysAreRightPastTheStreamingLimit) {
  Random random(8);
  Threads threads(2);
  const Sizes sizes{(std::int64_t{9} << 20) + 77};
  Array a(DType::f32, sizes, Lie::dense, random);
  Array b(DType::f32, sizes, Lie::dense, random);
  const Array out(DType::f32, sizes, Lie::dense, random);
  for (std::int64_t i = 0; i < a.count(); ++i) {
    a.operand().as<float>()[i] = static_cast<float>(i % 1021);
    b.operand().as<float>()[i] = static_cast<float>(i % 509);
  }
  const auto all_right = [&](auto&& expected) {
    for (std::int64_t i = 0; i < a.count(); ++i) {
      if (out.operand().as<float>()[i] != expected(i)) return false;
    }
    return true;
  };
  run_kernel(host_kernel("AddV2"), threads, {&a, &b}, out);
  EXPECT_TRUE(all_right([](std::int64_t i) { return static_cast<float>(i % 1021 + i % 509); }));
  run_kernel(host_kernel("_Copy"), threads, {&b}, out);
  EXPECT_TRUE(all_right([](std::int64_t i) { return static_cast<float>(i % 509); }));
  run_kernel(host_kernel("Relu"), threads, {&a}, out);
  EXPECT_TRUE(all_right([](std::int64_t i) { return static_cast<float>(i % 1021); }));
}

TEST(Elementwise, NanInfinityAndNegativeZeroFollowIeee) {
  Random random(1);
  Serial serial;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  Array a(DType::f32, {6}, Lie::dense, random);
  Array b(DType::f32, {6}, Lie::dense, random);
  const std::array<float, 6> left{nan, inf, inf, -0.0F, -inf, 1e38F};
  const std::array<float, 6> right{1, -inf, 1, -0.0F, 2, 1e38F};
  for (std::int64_t i = 0; i < 6; ++i) {
    a.set(i, left[static_cast<std::size_t>(i)]);
    b.set(i, right[static_cast<std::size_t>(i)]);
  }
  const Array out(DType::f32, {6}, Lie::dense, random);
  const std::array<float, 6> sums{nan, nan, inf, -0.0F, -inf, 2e38F};
  const std::array<float, 6> rectified_left{nan, inf, inf, -0.0F, 0, 1e38F};
  run_kernel(host_kernel("AddV2"), serial, {&a, &b}, out);
  expect_elements<float>(out, [&](std::int64_t i) { return sums[static_cast<std::size_t>(i)]; });
  run_kernel(host_kernel("Relu"), serial, {&a}, out);
  expect_elements<float>(out, [&](std::int64_t i) { return rectified_left[static_cast<std::size_t>(i)]; });
}

TEST(Elementwise, AnImmediateStandsForEveryElement) {
  Random random(3);
  Serial serial;
  Array a(DType::i32, {5, 70}, Lie::dense, random);
  a.fill(random);
  Array two(DType::i32, {}, Lie::dense, random);
  two.set<std::int32_t>(0, 2);
  const Array out(DType::i32, {5, 70}, Lie::dense, random);
  std::array<Operand, 3> operands{a.operand(), two.operand(), out.operand()};
  operands[1].is_immediate = true;
  operands[1].rank = 2;
  operands[1].axes[0] = {5, 0};
  operands[1].axes[1] = {70, 0};
  KernelCall call;
  call.inputs = 2;
  call.outputs = 1;
  call.operands = operands.data();
  KernelContext context{serial};
  host_kernel("Mul")(call, context);
  expect_elements<std::int32_t>(out, [&](std::int64_t i) { return 2 * a.get<std::int32_t>(i); });
}

TEST(Elementwise, ADtypeWithoutAKernelIsRefusedByName) {
  Random random(3);
  Serial serial;
  const Array a(DType::i32, {4}, Lie::dense, random);
  try {
    run_kernel(host_kernel("Exp"), serial, {&a}, a);
    FAIL() << "nothing was thrown";
  } catch (const KernelFailed& error) {
    EXPECT_NE(std::string(error.what()).find("exp has no CPU kernel for int32"), std::string::npos) << error.what();
  }
}

TEST(AddN, AddsEveryInputInOrderAndRoundsHalfPrecisionOnce) {
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Random random(seed);
    Threads threads(2);
    const DType dtype = all_dtypes[static_cast<std::size_t>(pick(random, 0, 9))];
    const Sizes sizes = pick(random, 0, 9) == 0 ? Sizes{5, 30000} : random_sizes(random);
    std::vector<Array> inputs;
    std::vector<const Array*> pointers;
    for (std::int64_t i = pick(random, 1, 7); i-- > 0;) {
      inputs.emplace_back(dtype, sizes, random_lie(random), random);
      inputs.back().fill(random, true);
    }
    for (const Array& input : inputs) pointers.push_back(&input);
    const bool in_place = has_an_element_each(inputs[0].operand());
    const Array fresh(dtype, sizes, random_lie(random, false), random);
    visit_dtype(dtype, [&]<class T>(T) {
      using Sum = std::conditional_t<std::is_same_v<T, f16> || std::is_same_v<T, bf16>, float, T>;
      std::vector<T> expected;
      for (std::int64_t i = 0; i < fresh.count(); ++i) {
        Sum sum = static_cast<Sum>(inputs[0].get<T>(i));
        for (std::size_t k = 1; k < inputs.size(); ++k) sum = plus<Sum>(sum, static_cast<Sum>(inputs[k].get<T>(i)));
        expected.push_back(T(sum));
      }
      run_kernel(host_kernel("AddN"), threads, pointers, fresh);
      expect_elements<T>(fresh, [&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; });
      if (!in_place) return;
      run_kernel(host_kernel("AddN"), threads, pointers, inputs[0]);
      expect_elements<T>(inputs[0], [&](std::int64_t i) { return expected[static_cast<std::size_t>(i)]; });
    });
  }
}

}  // namespace tutti::testing

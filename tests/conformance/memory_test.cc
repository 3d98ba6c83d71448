// Memory: reuse that is never seen wrong, limits, running out, and updates in place.
#include "conformance/backend.h"

namespace tutti::conformance {

class Memory : public OnBackend {};
TUTTI_ON_EVERY_BACKEND(Memory);

TEST_P(Memory, AGivenAwayArgumentIsUpdatedInPlace) {
  Tensor x = zeros({1000}, DType::i32);
  const void* address = x.impl().address();
  for (int i = 0; i < 10; ++i) x = add(std::move(x), 1);
  EXPECT_EQ(x.impl().address(), address);
  EXPECT_EQ(read<std::int32_t>(x), std::vector<std::int32_t>(1000, 10));
}

TEST_P(Memory, AGivenAwayArgumentThatSomeoneElseHoldsIsLeftAlone) {
  Tensor x = full({1000}, 5, DType::i32);
  const Tensor kept = x;
  const void* address = x.impl().address();
  x = add(std::move(x), 1);
  EXPECT_NE(x.impl().address(), address);
  Tensor y = full({10}, 3, DType::i32);
  const Tensor view = slice(y, 0, {.start = 5, .stop = {}});
  y = multiply(std::move(y), 2);
  EXPECT_EQ(read<std::int32_t>(kept), std::vector<std::int32_t>(1000, 5));
  EXPECT_EQ(read<std::int32_t>(x), std::vector<std::int32_t>(1000, 6));
  EXPECT_EQ(read<std::int32_t>(view), std::vector<std::int32_t>(5, 3));
  EXPECT_EQ(read<std::int32_t>(y), std::vector<std::int32_t>(10, 6));
}

TEST_P(Memory, AGivenAwayArgumentOfAnotherShapeOrDtypeIsNotReusedWrongly) {
  Tensor row = constant({1.F, 2.F});
  EXPECT_EQ(read<float>(add(std::move(row), constant({{10.F}, {20.F}}))), (std::vector<float>{11, 12, 21, 22}));
  Tensor small = constant({std::int8_t{100}, std::int8_t{-100}});
  EXPECT_EQ(read<std::int32_t>(add(std::move(small), constant({std::int32_t{100}, std::int32_t{100}}))),
            (std::vector<std::int32_t>{200, 0}));
}

TEST_P(Memory, AGivenAwayArgumentReadOnAnotherStreamIsNotOverwrittenTooEarly) {
  Stream other(device(0));
  for (int i = 0; i < 20; ++i) {
    Tensor x = full({20'000}, i, DType::i32);
    Tensor seen;
    {
      const StreamScope on(other);
      seen = sum(x * 3);
    }
    x = add(std::move(x), 100);
    EXPECT_EQ(item<std::int64_t>(seen), 60'000 * i);
    EXPECT_EQ(item<std::int64_t>(sum(x)), 20'000 * (i + 100));
  }
}

TEST_P(Memory, WhatIsLetGoCanBeUsedAgain) {
  set_memory_limit(device(0), MiB(4));
  // Two hundred times a megabyte through four: nothing is lost on the way.
  Tensor total = zeros({1 << 18}, DType::i32);
  for (int i = 1; i <= 200; ++i) total = total + full({1 << 18}, i, DType::i32);
  EXPECT_EQ(read<std::int32_t>(total), std::vector<std::int32_t>(1 << 18, 20'100));
  EXPECT_LE(memory_info(device(0)).reserved, MiB(4));
  EXPECT_LE(memory_info(device(0)).peak, MiB(4));
}

TEST_P(Memory, RunningOutThrowsAndLosesNothing) {
  set_memory_limit(device(0), MiB(8));
  const Tensor kept = full({1 << 18}, 7, DType::i32);  // 1 MiB
  std::vector<Tensor> hoard;
  try {
    for (int i = 0; i < 100; ++i) hoard.push_back(full({1 << 18}, i, DType::i32));
    FAIL() << "100 MiB fitted into 8";
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("limit"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("memory_test.cc"), std::string::npos) << "the owners are named: " << e.what();
  }
  EXPECT_GE(hoard.size(), 4U);
  EXPECT_EQ(read<std::int32_t>(kept), std::vector<std::int32_t>(1 << 18, 7));
  for (std::size_t i = 0; i < hoard.size(); ++i) {
    EXPECT_EQ(read<std::int32_t>(hoard[i]), std::vector<std::int32_t>(1 << 18, static_cast<std::int32_t>(i)));
    hoard[i] = {};
  }
  EXPECT_EQ(item<std::int64_t>(sum(full({1 << 20}, 3, DType::i32))), 3 << 20);
}

TEST_P(Memory, ACopyCanRunOutToo) {
  Tensor big;
  {
    const DeviceScope on(device(1));
    big = ones({1 << 21});
  }
  set_memory_limit(device(0), MiB(4));
  EXPECT_THROW(copy_to(big, device(0)), OutOfMemory);
  {
    const DeviceScope on(device(1));
    EXPECT_EQ(item<float>(sum(big)), static_cast<float>(1 << 21));
  }
  EXPECT_EQ(item<float>(ones({1}) + 1), 2);
}

TEST_P(Memory, ARequestLargerThanTheLimitIsRefusedAtOnce) {
  set_memory_limit(device(0), MiB(4));
  EXPECT_THROW(zeros({1 << 22}), OutOfMemory);
  EXPECT_THROW(zeros({std::int64_t{1} << 40}), OutOfMemory);
  EXPECT_THROW(zeros({std::int64_t{1} << 62, 2}), ShapeError);
}

TEST_P(Memory, ALimitFarBelowAGranuleHoldsWhatItSays) {
  const std::uint64_t before = memory_info(device(0)).in_use;
  set_memory_limit(device(0), before + 1024);
  std::vector<Tensor> held;
  for (int i = 0; i < 4; ++i) held.push_back(full({4}, i, DType::f32));
  try {
    full({4}, 9, DType::f32);
    FAIL() << "five blocks fitted into the space of four";
  } catch (const OutOfMemory& e) {
    EXPECT_EQ(std::string(e.what()).find("in one piece"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("let go of at least 256 B"), std::string::npos) << e.what();
  }
  EXPECT_EQ(memory_info(device(0)).in_use, before + 1024);
  EXPECT_EQ(read<float>(held[3]), std::vector<float>(4, 3.F));
  held.pop_back();
  held.push_back(full({4}, 5, DType::f32));
}

TEST_P(Memory, TheLimitIsNotLoweredBelowWhatIsInUse) {
  const Tensor x = ones({1 << 20});
  EXPECT_THROW(set_memory_limit(device(0), MiB(2)), InvalidArgument);
  EXPECT_EQ(item<float>(sum(x)), static_cast<float>(1 << 20));
}

TEST_P(Memory, FiguresFollowWhatIsAlive) {
  sync_devices();
  const std::uint64_t before = memory_info(device(0)).requested;
  {
    const Tensor x = ones({1000}, DType::f32);
    EXPECT_EQ(memory_info(device(0)).requested, before + 4000);
    EXPECT_GE(memory_info(device(0)).peak, memory_info(device(0)).in_use);
  }
  EXPECT_EQ(memory_info(device(0)).requested, before);
}

}  // namespace tutti::conformance

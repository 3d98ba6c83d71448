// Variables: snapshots that never change, assignments that are atomic and ordered.
#include <thread>

#include "conformance/backend.h"

namespace tutti::conformance {

class Variables : public OnBackend {};
TUTTI_ON_EVERY_BACKEND(Variables);

TEST_P(Variables, ASnapshotNeverChanges) {
  Variable v(full({1000}, 1, DType::i64));
  const Tensor first = v.value();
  v.assign_add(10);
  const Tensor second = v.value();
  const Tensor part = slice(second, 0, {.start = 990, .stop = {}});
  v.assign(full({1000}, 5, DType::i64));
  v.assign_add(constant(std::int64_t{2}));
  EXPECT_EQ(read<std::int64_t>(first), std::vector<std::int64_t>(1000, 1));
  EXPECT_EQ(read<std::int64_t>(second), std::vector<std::int64_t>(1000, 11));
  EXPECT_EQ(read<std::int64_t>(part), std::vector<std::int64_t>(10, 11));
  EXPECT_EQ(read<std::int64_t>(v.value()), std::vector<std::int64_t>(1000, 7));
}

TEST_P(Variables, AReadThatIsStillOnItsWaySeesTheOldValue) {
  Variable v(zeros({5000}, DType::i64));
  for (std::int64_t i = 0; i < 50; ++i) {
    const Tensor doubled = sum(v.value() * 2);
    v.assign_add(1);
    EXPECT_EQ(item<std::int64_t>(doubled), 10'000 * i);
  }
}

TEST_P(Variables, AreWrittenInPlaceWhenNobodyHoldsASnapshot) {
  Variable v(zeros({1000}));
  const void* address = v.value().impl().address();
  for (int i = 0; i < 5; ++i) v.assign_add(1.5);
  const Tensor next = v.value() * 1;
  v.assign(next);
  v.assign(1);
  EXPECT_EQ(v.value().impl().address(), address);
  EXPECT_EQ(read<float>(v.value()), std::vector<float>(1000, 1));
}

TEST_P(Variables, TakeOverTheMemoryOfAValueThatIsGivenAway) {
  Variable v(zeros({1000}));
  Tensor next = ones({1000});
  const void* address = next.impl().address();
  v.assign(std::move(next));
  EXPECT_EQ(v.value().impl().address(), address) << "nothing was copied";
  const Tensor snapshot = v.value();
  v.assign_add(1);
  EXPECT_EQ(read<float>(snapshot), std::vector<float>(1000, 1));
  EXPECT_EQ(read<float>(v.value()), std::vector<float>(1000, 2));
}

TEST_P(Variables, LeaveAsItIsWhatOthersHoldAndWhatIsPartOfMore) {
  Variable v(zeros({1000}));
  Tensor held = ones({1000});
  const Tensor other = held;
  const Tensor whole = ones({2000});
  v.assign(std::move(held));
  v.assign_add(1);
  EXPECT_EQ(read<float>(other), std::vector<float>(1000, 1));
  v.assign(slice(whole, 0, {0, 1000}));
  v.assign_add(5);
  EXPECT_EQ(read<float>(whole), std::vector<float>(2000, 1));
  EXPECT_EQ(read<float>(v.value()), std::vector<float>(1000, 6));
}

TEST_P(Variables, TakeValuesFromAnyDeviceAndAnyStream) {
  Variable v(zeros({100}, DType::i32));
  std::int32_t expected = 0;
  for (int round = 0; round < 10; ++round) {
    for (const std::string& name : all_devices()) {
      Stream stream(name);
      const DeviceScope on(name);
      const StreamScope in(stream);
      v.assign_add(full({100}, round, DType::i32) + 1);
      expected += round + 1;
      v.assign(v.value() + 1);
      ++expected;
    }
  }
  EXPECT_TRUE(v.device().ends_with(device(0))) << v.device();
  EXPECT_EQ(read<std::int32_t>(v.value()), std::vector<std::int32_t>(100, expected));
}

TEST_P(Variables, BroadcastWhatIsAssignedAndRefuseWhatDoesNotFit) {
  Variable v(zeros({2, 2}));
  v.assign(constant({1.F, 2.F}));
  EXPECT_EQ(read<float>(v.value()), (std::vector<float>{1, 2, 1, 2}));
  v.assign(3);
  EXPECT_EQ(read<float>(v.value()), (std::vector<float>(4, 3)));
  EXPECT_THROW(v.assign(zeros({3})), ShapeError);
  EXPECT_THROW(v.assign(zeros({2, 2}, DType::f64)), DTypeError);
  EXPECT_THROW(v.assign_add(zeros({2, 2, 2})), ShapeError);
  EXPECT_EQ(read<float>(v.value()), (std::vector<float>(4, 3)));
}

TEST_P(Variables, AdditionsFromManyThreadsAreAllThere) {
  Variable v(zeros({257}, DType::i64));
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        enter_thread();
        const DeviceScope on(device(static_cast<unsigned>(t % 2)));
        Stream stream(device(0));
        const StreamScope in(stream);
        for (int i = 0; i < 100; ++i) v.assign_add(t + 1);
      });
    }
  }
  EXPECT_EQ(read<std::int64_t>(v.value()), std::vector<std::int64_t>(257, 1000));
}

TEST_P(Variables, ASnapshotIsOfOneAssignmentEvenIfThreadsAssignAtOnce) {
  Variable v(zeros({2000}, DType::i32));
  std::vector<std::jthread> threads;
  for (int t = 1; t <= 3; ++t) {
    threads.emplace_back([&, t] {
      enter_thread();
      const DeviceScope on(device(0));
      Stream stream(device(0));
      const StreamScope in(stream);
      const Tensor mine = full({2000}, t, DType::i32);
      for (int i = 0; i < 60; ++i) v.assign(mine);
    });
  }
  for (int i = 0; i < 60; ++i) {
    const std::vector<std::int32_t> seen = read<std::int32_t>(v.value());
    ASSERT_EQ(seen, std::vector<std::int32_t>(2000, seen.front()));
    ASSERT_LE(seen.front(), 3);
  }
}

}  // namespace tutti::conformance

// Values for the host, copies between devices, and what they may not do.
#include "conformance/backend.h"

namespace tutti::conformance {

class Reading : public OnBackend {};
TUTTI_ON_EVERY_BACKEND(Reading);

TEST_P(Reading, GivesOneElementOrAll) {
  EXPECT_EQ(item<float>(constant(2.5F)), 2.5F);
  EXPECT_EQ(item<std::int64_t>(constant({{std::int64_t{-7}}})), -7);
  EXPECT_EQ(read<bool>(constant({true, false, true})), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(read<std::int32_t>(transpose(constant({{1, 2, 3}, {4, 5, 6}}))), (std::vector<std::int32_t>{1, 4, 2, 5, 3, 6}));
}

TEST_P(Reading, RefusesWhatIsNotThere) {
  EXPECT_THROW((void)item<float>(zeros({2})), ShapeError);
  EXPECT_THROW((void)item<double>(constant(1.F)), DTypeError);
  EXPECT_THROW((void)read<float>(zeros({2}, DType::i32)), DTypeError);
  EXPECT_THROW((void)read<float>(Tensor{}), InvalidArgument);
}

TEST_P(Reading, AReadStartedEarlyGivesTheValueOfThatTime) {
  Variable v(zeros({100}, DType::i32));
  std::vector<Pending<std::int32_t>> pending;
  for (int i = 0; i < 10; ++i) {
    pending.push_back(read_async<std::int32_t>(v.value()));
    v.assign_add(1);
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pending[static_cast<std::size_t>(i)].get_all(), std::vector<std::int32_t>(100, i));
  const Pending<float> one = read_async<float>(sum(ones({3})));
  EXPECT_EQ(one.get(), 3);
  EXPECT_TRUE(one.is_ready());
  EXPECT_EQ(one.get(), 3) << "a second time too";
}

TEST_P(Reading, TryingNeverBlocksAndGivesTheValueOnceItIsThere) {
  const Tensor x = full({10}, 4, DType::i32) + 1;
  std::optional<std::vector<std::int32_t>> got = try_read<std::int32_t>(x);
  // A first try sends for the value; syncing lets that arrive.
  for (int i = 0; i < 3 && !got; ++i) {
    sync_devices();
    got = try_read<std::int32_t>(x);
  }
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(*got, std::vector<std::int32_t>(10, 5));
}

TEST_P(Reading, AValueSentForCanBeTriedWithoutBlockingWhereSyncsAreForbidden) {
  const SyncScope strict(OnSync::error);
  const Pending<float> one = read_async<float>(sum(ones({3})));
  const Pending<std::int32_t> all = read_async<std::int32_t>(full({10}, 4, DType::i32) + 1);
  EXPECT_EQ(one.try_get().value_or(3), 3.F) << "it may be there";
  {
    const AllowSync once("let it arrive");
    sync_devices();
  }
  EXPECT_EQ(one.try_get(), 3.F);
  EXPECT_EQ(one.try_get(), 3.F) << "a second time too";
  EXPECT_EQ(all.try_get_all(), std::vector<std::int32_t>(10, 5));
  EXPECT_THROW((void)all.try_get(), ShapeError) << "ten elements are not one";
  EXPECT_THROW((void)one.get(), SyncForbidden) << "which is judged by the call, ready or not";
}

TEST_P(Reading, HostValuesAreTakenAtTheCall) {
  std::vector<std::int32_t> values(1000, 1);
  const Tensor x = constant(values, {1000});
  std::fill(values.begin(), values.end(), 2);
  const Tensor y = constant(values, {1000});
  values.clear();
  EXPECT_EQ(item<std::int64_t>(sum(x)), 1000);
  EXPECT_EQ(item<std::int64_t>(sum(y)), 2000);
}

TEST_P(Reading, CopiesInAllDirectionsKeepElements) {
  const std::vector<std::string> devices = all_devices();
  for (const std::string& from : devices) {
    const DeviceScope on(from);
    const Tensor x = transpose(reshape(constant({1, 2, 3, 4, 5, 6}), {2, 3}));
    for (const std::string& to : devices) {
      const Tensor y = copy_to(x, to);
      EXPECT_TRUE(y.device().ends_with(to)) << y.device();
      EXPECT_TRUE(y.is_contiguous());
      EXPECT_NE(y.impl().address(), x.impl().address()) << "a copy of its own, also on its own device";
      EXPECT_EQ(read<std::int32_t>(y), (std::vector<std::int32_t>{1, 4, 2, 5, 3, 6})) << from << " to " << to;
      for (const std::string& further : devices) EXPECT_EQ(read<std::int32_t>(copy_to(y, further)), read<std::int32_t>(x));
    }
  }
}

TEST_P(Reading, LargeCopiesArriveWhole) {
  std::vector<std::int64_t> values(300'001);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i);
  const Tensor x = constant(values, {300'001});
  EXPECT_EQ(read<std::int64_t>(copy_to(copy_to(x, device(1)), device(0))), values);
}

TEST_P(Reading, InputsFromElsewhereAreCopiedOnlyIfThePolicyAllows) {
  Tensor far;
  {
    const DeviceScope on(device(1));
    far = ones({4}) + 1;
  }
  set_copy_policy(CopyPolicy::explicit_only);
  EXPECT_THROW(far + 1, CopyForbidden);
  EXPECT_EQ(read<float>(copy_to(far, device(0)) + 1), std::vector<float>(4, 3)) << "asked for by name";
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel, std::string_view line) { warnings.emplace_back(line); });
  set_copy_policy(CopyPolicy::warn);
  EXPECT_EQ(read<float>(far + 1), std::vector<float>(4, 3));
  EXPECT_EQ(warnings.size(), 1U);
  set_copy_policy(CopyPolicy::silent);
  Tensor further;
  {
    const DeviceScope on(device(1));
    further = ones({4}) * 5;
  }
  EXPECT_EQ(read<float>(further + 1), std::vector<float>(4, 6));
  EXPECT_EQ(warnings.size(), 1U);
  set_log_sink({});
}

TEST_P(Reading, PlacementRecordsTheCopiesItMade) {
  Tensor far;
  {
    const DeviceScope on(device(1));
    far = ones({256});
  }
  const Tensor here = far * 2;
  const PlacementRecord record = last_placement();
  EXPECT_EQ(record.op, "Mul");
  EXPECT_TRUE(record.chosen.ends_with(device(0))) << record.chosen;
  EXPECT_EQ(record.reason, PlacementReason::scope);
  EXPECT_EQ(record.copies, 1U);
  EXPECT_EQ(record.bytes, 1024U);
  (void)(far * 3);
  EXPECT_EQ(last_placement().copies, 0U) << "the first copy is kept";
}

TEST_P(Reading, DeviceMemoryFaultsWhenTheHostTouchesIt) {
  const Tensor x = ones({4});
  if (x.impl().buffer()->device().memory().is_host_visible()) GTEST_SKIP() << "the host may touch it here";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto touch = [](const Tensor& tensor) {
    const volatile auto* address = reinterpret_cast<const volatile char*>(tensor.impl().address());
    (void)*address;
  };
  EXPECT_DEATH(touch(x), "");
}

}  // namespace tutti::conformance

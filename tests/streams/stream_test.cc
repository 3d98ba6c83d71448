// Streams: each its own, few threads for many of them, priorities, and the order of what threads submit.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <thread>

#include "place/captured_log.h"
#include "streams/gate.h"

namespace tutti {

namespace {

using testing_streams::Gate;
using testing_streams::Notes;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int many_streams = 200;
#else
constexpr int many_streams = 1000;
#endif

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

}  // namespace

TEST(Stream, EveryNewOneIsItsOwnAndAThousandNeedFewThreads) {
  simulate_gpus(1);
  synchronize("GPU:0");
  const std::size_t threads_before = threads_of_this_process();
  std::vector<Stream> streams;
  std::set<StreamId> ids;
  std::vector<Tensor> results;
  const DeviceScope on("GPU:0");
  for (int i = 0; i < many_streams; ++i) {
    streams.emplace_back("GPU:0");
    ids.insert(streams.back().id());
    const StreamScope in(streams.back());
    results.push_back(full({10}, i, DType::i32) * 2);
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(many_streams));
  EXPECT_LE(threads_of_this_process(), threads_before + 2);
  for (int i = 0; i < many_streams; ++i) EXPECT_EQ(item<std::int64_t>(sum(results[static_cast<std::size_t>(i)])), 20 * i);
}

TEST(Stream, IsStillThereAfterItWasMovedFrom) {
  simulate_gpus(1);
  Stream first("GPU:0");
  const Stream second = std::move(first);
  EXPECT_EQ(first.id(), second.id());
  first.sync();
}

TEST(Stream, AMarkIsAPointOfItsOwnAfterAllThatWasThere) {
  simulate_gpus(1);
  Stream stream("GPU:0");
  Gate gate;
  {
    const StreamScope in(stream);
    gate.close("GPU:0");
  }
  const TimelinePoint before = stream.base().last();
  const TimelinePoint mark = stream.mark();
  EXPECT_EQ(mark.stream, stream.id());
  EXPECT_GT(mark.value, before.value);
  EXPECT_FALSE(is_done(mark));
  gate.open();
  stream.sync();
  EXPECT_TRUE(is_done(mark));
}

TEST(Stream, TwoStreamsDoNotWaitForEachOther) {
  simulate_gpus(1, {.workers = 2});
  Stream blocked("GPU:0");
  Stream free("GPU:0");
  Gate gate;
  {
    const StreamScope in(blocked);
    gate.close("GPU:0");
  }
  const DeviceScope on("GPU:0");
  const StreamScope in(free);
  EXPECT_EQ(item<float>(sum(ones({5}))), 5) << "while the other stream stands still";
  EXPECT_FALSE(blocked.is_idle());
}

TEST(Stream, IsRunByAParkedWorkerWhileTheOtherIsBusy) {
  simulate_gpus(1, {.workers = 2});
  Stream blocked("GPU:0");
  Stream free("GPU:0");
  const DeviceScope on("GPU:0");
  for (int round = 0; round < 20; ++round) {
    Gate gate;
    {
      const StreamScope in(blocked);
      gate.close("GPU:0");
    }
    gate.await_entered();
    // Idle workers spin for some 20 us before they park; with a busy one beside it, the other must still be woken.
    const Nanoseconds parked_by = now() + 30'000 * round;
    while (now() < parked_by) {}
    const StreamScope in(free);
    EXPECT_EQ(item<float>(ones({})), 1);
    gate.open();
    blocked.sync();
  }
}

TEST(Stream, IsUsedAgainOnlyAfterItWasLetGoAndHadDrained) {
  simulate_gpus(1);
  Gate gate;
  StreamId first{};
  {
    Stream lent("GPU:0");
    first = lent.id();
    const StreamScope in(lent);
    gate.close("GPU:0");
  }
  const Stream second("GPU:0");
  EXPECT_NE(second.id(), first) << "the first still has work";
  gate.open();
  synchronize("GPU:0");
  const Stream third("GPU:0");
  EXPECT_EQ(third.id(), first);
}

TEST(Stream, ANewOneDoesNotReportFailuresOfAnEarlierOwner) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  StreamId first{};
  {
    Stream lent("GPU:0");
    first = lent.id();
    const StreamScope in(lent);
    const Tensor bad = take(ones({2}), constant({std::int64_t{9}}));
    ones({}).sync();  // comes after it, and has not failed
  }
  Stream second("GPU:0");
  ASSERT_EQ(second.id(), first);
  EXPECT_NO_THROW(second.sync());
  EXPECT_THROW(synchronize("GPU:0"), KernelFailed) << "nobody was told of it yet";
}

TEST(Stream, OfHigherPriorityRunsFirstWhereTheDeviceMustChoose) {
  simulate_gpus(1, {.workers = 1});
  Gate gate;
  Notes notes;
  Stream blocker("GPU:0");
  Stream low("GPU:0", {.priority = -1});
  Stream usual("GPU:0");
  Stream high("GPU:0", {.priority = 1});
  Stream highest("GPU:0", {.priority = 5});
  {
    const StreamScope in(blocker);
    gate.close("GPU:0");
  }
  gate.await_entered();  // the one worker is taken; the others queue up behind it, lowest first
  const DeviceScope on("GPU:0");
  std::int64_t number = 0;
  for (Stream* stream : {&low, &usual, &high, &highest}) {
    const StreamScope in(*stream);
    notes.note(number++);
    notes.note(number++);
  }
  gate.open();
  sync_devices();
  EXPECT_EQ(notes.taken(), (std::vector<std::int64_t>{6, 7, 4, 5, 2, 3, 0, 1}));
}

TEST(Stream, OfEqualPriorityTakesTurnsSoThatNoneStarves) {
  simulate_gpus(1, {.workers = 1});
  Gate gate;
  Notes notes;
  Stream busy("GPU:0");
  Stream other("GPU:0");
  const DeviceScope on("GPU:0");
  {
    const StreamScope in(busy);
    gate.close("GPU:0");
    for (int i = 0; i < 400; ++i) notes.note(1);
  }
  {
    const StreamScope in(other);
    notes.note(2);
  }
  gate.open();
  sync_devices();
  const std::vector<std::int64_t> taken = notes.taken();
  const auto turn = std::find(taken.begin(), taken.end(), 2) - taken.begin();
  EXPECT_LT(turn, 200) << "the other stream had its turn before the busy one was empty";
}

TEST(Stream, KeepsTheOrderOfEachThreadThatSubmitsToIt) {
  simulate_gpus(1);
  Stream shared("GPU:0");
  Notes notes;
  constexpr std::int64_t each = 500;
  {
    std::vector<std::jthread> threads;
    for (std::int64_t t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        const DeviceScope on("GPU:0");
        const StreamScope in(shared);
        for (std::int64_t i = 0; i < each; ++i) notes.note(t * each + i);
      });
    }
  }
  shared.sync();
  std::int64_t next[2] = {0, each};
  for (const std::int64_t number : notes.taken()) EXPECT_EQ(number, next[number / each]++);
  EXPECT_EQ(next[0], each);
  EXPECT_EQ(next[1], 2 * each);
}

TEST(Stream, ACopyOfTheHandleIsTheSameStream) {
  simulate_gpus(1);
  const Stream a("GPU:0");
  const Stream b = a;
  EXPECT_EQ(a.id(), b.id());
  EXPECT_EQ(default_stream("GPU:0").id(), default_stream("GPU:0").id());
  EXPECT_NE(a.id(), default_stream("GPU:0").id());
}

TEST(Stream, RefusesImpossibleBoundsAndUnknownDevices) {
  simulate_gpus(1);
  EXPECT_THROW(Stream("GPU:0", {.most_ops = 0}), InvalidArgument);
  EXPECT_THROW(Stream("GPU:0", {.most_ops = 1 << 20}), InvalidArgument);
  EXPECT_THROW(Stream("GPU:7"), UnknownDevice);
  EXPECT_THROW(Stream("GPU:x"), InvalidDeviceName);
}

TEST(StreamScope, PicksTheStreamOfItsDeviceAndThreadAndIsLeftInOrder) {
  simulate_gpus(2);
  Stream outer("GPU:0");
  Stream inner("GPU:0");
  const DeviceScope on("GPU:0");
  const auto stream_of = [](const Tensor& x) { return x.impl().buffer()->written().stream; };
  EXPECT_EQ(stream_of(zeros({1})), default_stream("GPU:0").id());
  {
    const StreamScope first(outer);
    EXPECT_EQ(stream_of(zeros({1})), outer.id());
    {
      const StreamScope second(inner);
      EXPECT_EQ(stream_of(zeros({1})), inner.id());
      const DeviceScope elsewhere("GPU:1");
      EXPECT_EQ(stream_of(zeros({1})), default_stream("GPU:1").id()) << "of its own device only";
    }
    EXPECT_EQ(stream_of(zeros({1})), outer.id());
    std::jthread([&] {
      const DeviceScope there("GPU:0");
      EXPECT_EQ(stream_of(zeros({1})), default_stream("GPU:0").id()) << "of its own thread only";
    }).join();
  }
  EXPECT_EQ(stream_of(zeros({1})), default_stream("GPU:0").id());
}

TEST(StreamScope, KeepsItsStreamAlive) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  std::optional<Stream> only(std::in_place, "GPU:0");
  const StreamScope in(*only);
  const StreamId id = only->id();
  only.reset();
  EXPECT_NE(Stream("GPU:0").id(), id);
  EXPECT_EQ(zeros({1}).impl().buffer()->written().stream, id);
}

TEST(ManualOrder, DerivesNoEdges) {
  simulate_gpus(1, {.workers = 2});
  const DeviceScope on("GPU:0");
  Stream maker("GPU:0");
  Stream reader("GPU:0");
  Gate gate;
  Tensor made;
  {
    const StreamScope in(maker);
    made = gate.close("GPU:0");
  }
  Tensor used;
  {
    const StreamScope in(reader);
    const ManualOrder manual;
    used = made * 2;
  }
  reader.sync();  // with a derived edge this would wait for the gate
  EXPECT_TRUE(used.is_ready());
  EXPECT_FALSE(made.is_ready());
  gate.open();
}

TEST(ManualOrder, LeavesTheCallersOwnWaitsInForce) {
  simulate_gpus(1, {.workers = 2});
  const DeviceScope on("GPU:0");
  Stream maker("GPU:0");
  Stream reader("GPU:0");
  Gate gate;
  Tensor made;
  {
    const StreamScope in(maker);
    made = gate.close("GPU:0");
  }
  Tensor used;
  {
    const ManualOrder manual;
    reader.wait(maker);
    const StreamScope in(reader);
    used = made * 2;
  }
  EXPECT_FALSE(used.is_ready());
  gate.open();
  EXPECT_EQ(item<float>(used), 2);
}

TEST(StreamScope, LeftOutOfOrderLeavesTheInnerStreamAndThenTheOneBefore) {
  simulate_gpus(1);
  const CapturedLog log;
  const DeviceScope on("GPU:0");
  const Stream first("GPU:0");
  const Stream second("GPU:0");
  const auto stream_of_an_op = [] { return ones({}).impl().buffer()->written().stream; };
  const StreamId usual = stream_of_an_op();
  auto outer = std::make_unique<StreamScope>(first);
  auto inner = std::make_unique<StreamScope>(second);
  outer.reset();
  EXPECT_EQ(stream_of_an_op(), second.id());
  inner.reset();
  EXPECT_EQ(stream_of_an_op(), usual);
  ASSERT_EQ(log.of(LogLevel::error).size(), 1U);
  EXPECT_NE(log.of(LogLevel::error)[0].find("the stream scope opened at"), std::string::npos);
}

TEST(StreamScope, LeftOnAnotherThreadIsReportedAndHarmsNobody) {
  simulate_gpus(1);
  const CapturedLog log;
  const DeviceScope on("GPU:0");
  const auto stream_of_an_op = [] { return ones({}).impl().buffer()->written().stream; };
  const StreamId usual = stream_of_an_op();
  auto scope = std::make_unique<StreamScope>(Stream("GPU:0"));
  EXPECT_NE(stream_of_an_op(), usual);
  std::thread([&] { scope.reset(); }).join();
  EXPECT_EQ(stream_of_an_op(), usual);
  ASSERT_EQ(log.of(LogLevel::error).size(), 1U);
  EXPECT_NE(log.of(LogLevel::error)[0].find("was left on another thread; a scope belongs to its thread"), std::string::npos);
}

TEST(Cancelled, WorkWhoseInputHadFailedSaysTheFirstOrigin) {
  simulate_gpus(1);
  Stream stream("GPU:0");
  const StreamScope in(stream);
  const DeviceScope on("GPU:0");
  const Tensor spoiled = take(ones({2}), constant({std::int64_t{9}}));
  Gate gate;
  gate.close("GPU:0");
  const Tensor dependent = spoiled + 1;
  const Tensor independent = ones({2});
  gate.await_entered();
  stream.cancel();
  gate.open();
  EXPECT_THROW((void)read<float>(dependent), KernelFailed);
  EXPECT_THROW((void)read<float>(independent), Cancelled);
}

TEST(InjectedFault, InAnOpWhoseInputHadFailedSaysTheFirstOrigin) {
  simulate_gpus(1);
  const DeviceScope on("GPU:0");
  inject_fault({.kind = FaultKind::kernel, .op = "AddV2"});
  const Tensor dependent = take(ones({2}), constant({std::int64_t{9}})) + 1;
  try {
    (void)read<float>(dependent);
    ADD_FAILURE() << "it was read";
  } catch (const KernelFailed& e) {
    EXPECT_NE(std::string(e.what()).find("op take on"), std::string::npos) << e.what();
  }
  EXPECT_NO_THROW(sync_devices()) << "nothing else has failed";
}

}  // namespace tutti

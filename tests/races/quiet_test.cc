// What orders two accesses is seen: programs that are right are not accused.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "races/touch.h"
#include "streams/gate.h"

namespace tutti {

namespace {

using testing_races::Pair;
using testing_races::read_on_device;
using testing_races::write;

void start_watching() {
  simulate_gpus(2);
  set_race_detection(RaceDetection::error);
}

}  // namespace

TEST(RaceDetector, SeesASyncByTheHost) {
  start_watching();
  Pair pair;
  const ManualOrder by_hand;
  Pair::in(pair.a, [&] { write(pair.x); });
  Event done;
  done.record(pair.a);
  done.sync();
  EXPECT_NO_THROW(Pair::in(pair.b, [&] { write(pair.x); }));
}

TEST(RaceDetector, SeesAHostThatAskedUntilItWasDone) {
  start_watching();
  Pair pair;
  const ManualOrder by_hand;
  Pair::in(pair.a, [&] { write(pair.x); });
  Event done;
  done.record(pair.a);
  while (!done.is_done()) std::this_thread::yield();
  EXPECT_NO_THROW(Pair::in(pair.b, [&] { write(pair.x); }));
}

TEST(RaceDetector, SeesAReadOfTheValue) {
  start_watching();
  Pair pair;
  const ManualOrder by_hand;
  Tensor made;
  Pair::in(pair.a, [&] {
    made = multiply(pair.x, 2.0F);
    EXPECT_EQ(read<float>(made).at(0), 2.0F);
  });
  EXPECT_NO_THROW(Pair::in(pair.b, [&] { (void)add(made, 1.0F); }));
}

TEST(RaceDetector, SeesAChainOfWaitsOverOtherStreams) {
  start_watching();
  Pair pair;
  Stream middle("GPU:1");
  const ManualOrder by_hand;
  Pair::in(pair.a, [&] { write(pair.x); });
  middle.wait(pair.a);
  pair.b.wait(middle);
  EXPECT_NO_THROW(Pair::in(pair.b, [&] { write(pair.x); }));
}

TEST(RaceDetector, DoesNotTakeAChainBackwards) {
  start_watching();
  Pair pair;
  Stream middle("GPU:1");
  const ManualOrder by_hand;
  pair.b.wait(middle);  // before middle waits itself: brings nothing
  Pair::in(pair.a, [&] { write(pair.x); });
  middle.wait(pair.a);
  EXPECT_THROW(Pair::in(pair.b, [&] { write(pair.x); }), RaceDetected);
}

TEST(RaceDetector, JudgesTheProgramNotTheLuckOfTheRun) {
  start_watching();
  Pair pair;
  const ManualOrder by_hand;
  Pair::in(pair.a, [&] { write(pair.x); });
  // Done by now, but the program has no way to know.
  while (!is_done(pair.a.base().last())) std::this_thread::yield();
  EXPECT_THROW(Pair::in(pair.b, [&] { write(pair.x); }), RaceDetected);
}

TEST(RaceDetector, SeesAWaitForWhatWasDoneAlready) {
  start_watching();
  Pair pair;
  const ManualOrder by_hand;
  Pair::in(pair.a, [&] { write(pair.x); });
  while (!is_done(pair.a.base().last())) std::this_thread::yield();
  pair.b.wait(pair.a);
  EXPECT_NO_THROW(Pair::in(pair.b, [&] { write(pair.x); }));
}

TEST(RaceDetector, LetsOneThreadRelyOnWhatAnotherSynced) {
  start_watching();
  Pair pair;
  Pair::in(pair.a, [&] {
    const ManualOrder by_hand;
    write(pair.x);
  });
  std::thread([&] { pair.a.sync(); }).join();
  std::thread([&] {
    const ManualOrder by_hand;
    EXPECT_NO_THROW(Pair::in(pair.b, [&] { write(pair.x); }));
  }).join();
}

TEST(RaceDetector, FindsNothingWhereTheRuntimeOrders) {
  start_watching();
  Pair pair;
  Tensor x = pair.x;
  const DeviceScope on("GPU:0");
  Variable v(full({64}, 0.0F, DType::f32));
  for (int i = 0; i < 200; ++i) {
    Pair::in(i % 2 == 0 ? pair.a : pair.b, [&] {
      x = add(std::move(x), 1.0F);
      v.assign(x);
      v.assign_add(x);
      if (i % 20 == 0) (void)copy_to(x, "GPU:1");
    });
  }
  EXPECT_EQ(read<float>(v.value()).at(0), 402.0F);
  EXPECT_EQ(race_figures().found, 0U);
}

TEST(RaceDetector, FindsNothingWhereThreadsShareTensorsAndTheRuntimeOrders) {
  start_watching();
  const Pair pair;
  const DeviceScope on("GPU:0");
  Variable total(full({64}, 0.0F, DType::f32));
  std::atomic<int> accused{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const Stream mine(t % 2 == 0 ? "GPU:0" : "GPU:1");
        const StreamScope in(mine);
        const DeviceScope here(t % 2 == 0 ? "GPU:0" : "GPU:1");
        try {
          for (int i = 0; i < 300; ++i) total.assign_add(add(multiply(pair.x, 2.0F), -1.0F));
        } catch (const RaceDetected& race) {
          ADD_FAILURE() << race.what();
          ++accused;
        }
      });
    }
  }
  EXPECT_EQ(accused, 0);
  EXPECT_EQ(read<float>(total.value()).at(5), 1200.0F);
}

TEST(RaceDetector, KnowsMemoryThePoolFoundUnused) {
  start_watching();
  Pair pair;
  const ManualOrder by_hand;
  const DeviceScope on("GPU:0");
  Tensor y;
  Pair::in(pair.a, [&] { y = full({4096}, 1.0F, DType::f32); });
  const std::byte* const where = y.impl().address();
  while (!is_done(pair.a.base().last())) std::this_thread::yield();
  y = {};
  Tensor z;
  EXPECT_NO_THROW(Pair::in(pair.b, [&] { z = full({4096}, 2.0F, DType::f32); }));
  EXPECT_EQ(z.impl().address(), where) << "the pool no longer reuses such memory: this test shows nothing";
}

TEST(RaceDetector, TakesACallInTheCallersThreadForOneOnItsStream) {
  simulate_gpus(1);
  set_race_detection(RaceDetection::error);
  const DeviceScope on("CPU:0");
  const Tensor x = full({64}, 1.0F, DType::f32);
  Stream a("CPU:0");
  Stream b("CPU:0");
  const ManualOrder by_hand;
  set_synchronous_execution(false);
  Pair::in(a, [&] { write(x); });
  while (!is_done(a.base().last())) std::this_thread::yield();
  set_synchronous_execution(true);
  EXPECT_THROW(Pair::in(b, [&] { read_on_device(x); }), RaceDetected);
  EXPECT_TRUE(races().at(0).later.is_by_host);
  EXPECT_NO_THROW(Pair::in(a, [&] { read_on_device(x); }));
  b.wait(a);
  EXPECT_NO_THROW(Pair::in(b, [&] { write(x); }));
}

// The program cannot order what it does not see.
TEST(ManualOrder, LeavesTheOrderOfImplicitCopiesToTheRuntime) {
  start_watching();
  Pair pair;
  testing_streams::Gate gate;
  const ManualOrder by_hand;
  Tensor doubled;
  Pair::in(pair.a, [&] {
    (void)gate.close("GPU:0");
    doubled = multiply(pair.x, 2.0F);
    const DeviceScope on("CPU:0");
    doubled = add(doubled, 1.0F);
  });
  gate.open();
  EXPECT_EQ(read<float>(doubled).at(63), 3.0F);
}

TEST(RaceDetector, LeavesTheStreamUsableAfterARefusedCallThatHadEdges) {
  start_watching();
  Pair pair;
  Stream elsewhere("CPU:0");
  testing_streams::Gate gate;
  Tensor on_cpu;
  Tensor made;
  {
    const DeviceScope on("CPU:0");
    on_cpu = full({64}, 1.0F, DType::f32);
    const ManualOrder by_hand;
    set_synchronous_execution(false);
    Pair::in(elsewhere, [&] { write(on_cpu); });
    Pair::in(pair.a, [&] {
      (void)gate.close("GPU:0");
      const DeviceScope there("GPU:0");
      made = multiply(pair.x, 2.0F);
    });
    // The copy of `made` is ordered by the runtime; `on_cpu` is not, and stops the call.
    EXPECT_THROW(Pair::in(pair.a, [&] { testing_races::touch("rr", {on_cpu, made}); }), RaceDetected);
  }
  const DeviceScope on("CPU:0");
  Tensor sum;
  Pair::in(pair.a, [&] { sum = add(made, 1.0F); });
  gate.open();
  EXPECT_EQ(read<float>(sum).at(63), 3.0F);
}

}  // namespace tutti

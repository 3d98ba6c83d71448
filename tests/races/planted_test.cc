// Races of every kind are found where they are planted, and the same programs with the right wait are quiet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "races/touch.h"
#include "streams/gate.h"
#include "tutti/exec/order.h"

namespace tutti {

namespace {

using testing::HasSubstr;
using testing_races::Pair;
using testing_races::read_on_device;
using testing_races::write;

enum class Wait { forgotten, made };

// The whole program: `first` on stream a, a wait or none, `second` on stream b.
template <class First, class Second>
void two_streams(Pair& pair, Wait wait, First&& first, Second&& second) {
  const ManualOrder by_hand;
  Pair::in(pair.a, first);
  Event done;
  done.record(pair.a);
  if (wait == Wait::made) pair.b.wait(done);
  Pair::in(pair.b, second);
}

void start() {
  simulate_gpus(2);
  set_race_detection(RaceDetection::error);
}

template <class First, class Second>
void expect_race_unless_waited_for(First&& first, Second&& second, const Shape& shape = {64}) {
  start();
  Pair pair(shape);
  EXPECT_NO_THROW(two_streams(
      pair, Wait::made, [&] { first(pair.x); }, [&] { second(pair.x); }));
  sync_devices();
  EXPECT_THROW(two_streams(
                   pair, Wait::forgotten, [&] { first(pair.x); }, [&] { second(pair.x); }),
               RaceDetected);
}

template <class First, class Second>
void expect_no_race(First&& first, Second&& second, const Shape& shape) {
  start();
  Pair pair(shape);
  EXPECT_NO_THROW(two_streams(
      pair, Wait::forgotten, [&] { first(pair.x); }, [&] { second(pair.x); }));
}

}  // namespace

TEST(Race, BetweenTwoWritesIsFound) {
  expect_race_unless_waited_for([](const Tensor& x) { write(x); }, [](const Tensor& x) { write(x); });
}

TEST(Race, OfAReadAfterAWriteIsFound) {
  expect_race_unless_waited_for([](const Tensor& x) { write(x); }, [](const Tensor& x) { read_on_device(x); });
}

TEST(Race, OfAWriteAfterAReadIsFound) {
  expect_race_unless_waited_for([](const Tensor& x) { read_on_device(x); }, [](const Tensor& x) { write(x); });
}

TEST(Race, NeedsAWrite) {
  expect_no_race([](const Tensor& x) { read_on_device(x); }, [](const Tensor& x) { read_on_device(x); }, {64});
}

TEST(Race, OnOverlappingSlicesIsFound) {
  expect_race_unless_waited_for(
      [](const Tensor& x) {
        write(slice(x, 0, {0, 33}));
      },
      [](const Tensor& x) {
        read_on_device(slice(x, 0, {32, 64}));
      });
}

TEST(Race, IsNotBetweenNeighbouringSlices) {
  expect_no_race(
      [](const Tensor& x) {
        write(slice(x, 0, {0, 32}));
      },
      [](const Tensor& x) {
        write(slice(x, 0, {32, 64}));
      },
      {64});
}

TEST(Race, OnOverlappingColumnsIsFound) {
  expect_race_unless_waited_for(
      [](const Tensor& x) {
        write(slice(x, 1, {0, 5}));
      },
      [](const Tensor& x) {
        write(slice(x, 1, {4, 8}));
      },
      {16, 8});
}

TEST(Race, IsNotBetweenNeighbouringColumns) {
  expect_no_race(
      [](const Tensor& x) {
        write(slice(x, 1, {0, 4}));
      },
      [](const Tensor& x) {
        write(slice(x, 1, {4, 8}));
      },
      {16, 8});
}

TEST(Race, OfAColumnWithARowIsFound) {
  expect_race_unless_waited_for(
      [](const Tensor& x) {
        write(slice(x, 1, {7, 8}));
      },
      [](const Tensor& x) {
        write(slice(x, 0, {15, 16}));
      },
      {16, 8});
}

TEST(Race, OfRealOpsNamesThemBothAndHowToOrderThem) {
  start();
  Pair pair;
  const ManualOrder by_hand;
  Tensor made;
  Pair::in(pair.a, [&] { made = multiply(pair.x, 2.0F); });
  try {
    Pair::in(pair.b, [&] { (void)add(made, 1.0F); });
    FAIL() << "no race was found";
  } catch (const RaceDetected& race) {
    const std::string a = "stream " + std::to_string(index_of(pair.a.id()));
    const std::string b = "stream " + std::to_string(index_of(pair.b.id()));
    const std::string said = race.what();
    EXPECT_THAT(said, HasSubstr("race on bytes 0 to 256 of the 256 allocated at "));
    EXPECT_THAT(said, HasSubstr("write by Mul, work 1 of " + a + " on /job:localhost/replica:0/task:0/device:GPU:0, at "));
    EXPECT_THAT(said, HasSubstr("read by AddV2, work 1 of " + b + " on /job:localhost/replica:0/task:0/device:GPU:0, at "));
    EXPECT_THAT(said, HasSubstr(b + " does not wait for " + a));
    EXPECT_THAT(said, HasSubstr("call Stream::wait(event) on " + b + " before AddV2"));
    EXPECT_THAT(said, HasSubstr("planted_test.cc"));
  }
  // Nothing was submitted; with the wait it goes on.
  pair.b.wait(pair.a);
  Pair::in(pair.b, [&] { EXPECT_EQ(read<float>(add(made, 1.0F)), std::vector<float>(64, 3.0F)); });
}

TEST(Race, OfAVariableAssignedOnTwoStreamsIsFound) {
  start();
  Pair pair;
  const DeviceScope on("GPU:0");
  Variable v(full({64}, 0.0F, DType::f32));
  sync_devices();
  const ManualOrder by_hand;
  Pair::in(pair.a, [&] { v.assign(pair.x); });
  EXPECT_THROW(Pair::in(pair.b, [&] { v.assign(pair.x); }), RaceDetected);
  pair.b.wait(pair.a);
  EXPECT_NO_THROW(Pair::in(pair.b, [&] { v.assign(pair.x); }));
}

TEST(Race, WithMemoryThatWasGivenAwayIsFound) {
  start();
  Pair pair;
  const ManualOrder by_hand;
  Pair::in(pair.b, [&] { read_on_device(pair.x); });
  EXPECT_THROW(Pair::in(pair.a, [&] { (void)add(std::move(pair.x), 1.0F); }), RaceDetected);
}

TEST(Race, AcrossDevicesIsFoundInTheCopy) {
  start();
  Pair pair;
  const Stream other("GPU:1");
  const ManualOrder by_hand;
  const StreamScope in_b(other);
  Pair::in(pair.a, [&] { write(pair.x); });
  try {
    (void)copy_to(pair.x, "GPU:1");
    FAIL() << "no race was found";
  } catch (const RaceDetected&) {
    const Race race = races().at(0);
    EXPECT_THAT(race.earlier.device, HasSubstr("GPU:0"));
    EXPECT_THAT(race.later.device, HasSubstr("GPU:1"));
    EXPECT_EQ(race.later.op, "_Copy");
    EXPECT_FALSE(race.later.is_write);
  }
  Stream(other).wait(pair.a);
  EXPECT_NO_THROW((void)copy_to(pair.x, "GPU:1"));
}

TEST(Race, WithTheLastUseOfReusedMemoryIsFound) {
  for (const Wait wait : {Wait::forgotten, Wait::made}) {
    SCOPED_TRACE(wait == Wait::made ? "with the wait" : "without the wait");
    start();
    Pair pair;
    testing_streams::Gate gate;
    const ManualOrder by_hand;
    const DeviceScope on("GPU:0");
    Tensor y;
    Pair::in(pair.a, [&] { y = full({4096}, 1.0F, DType::f32); });
    pair.b.wait(pair.a);
    Pair::in(pair.b, [&] {
      (void)gate.close("GPU:0");
      read_on_device(y);
    });
    const std::byte* const where = y.impl().address();
    y = {};  // its stream may have the memory at once, though b is not done with it
    if (wait == Wait::made) pair.a.wait(pair.b);
    Tensor z;
    const auto use_again = [&] { Pair::in(pair.a, [&] { z = full({4096}, 2.0F, DType::f32); }); };
    if (wait == Wait::made) {
      EXPECT_NO_THROW(use_again());
      EXPECT_EQ(z.impl().address(), where) << "the pool no longer reuses such memory: this test shows nothing";
    } else {
      EXPECT_THROW(use_again(), RaceDetected);
      EXPECT_TRUE(races().at(0).is_reuse);
      EXPECT_NE(races().at(0).allocated.line(), races().at(0).allocated_before.line());
      EXPECT_THAT(to_string(races().at(0)), HasSubstr("let go and handed out again in between"));
    }
    gate.open();
    sync_devices();
    set_race_detection(RaceDetection::off);
  }
}

TEST(Race, ThroughAnEventThatWasRecordedTooEarlyIsFoundAndSaid) {
  start();
  Pair pair;
  const ManualOrder by_hand;
  Event early;
  Pair::in(pair.a, [&] {
    read_on_device(pair.x);
    early.record(pair.a);
    write(pair.x);
  });
  pair.b.wait(early);
  EXPECT_THROW(Pair::in(pair.b, [&] { read_on_device(pair.x); }), RaceDetected);
  const Race race = races().at(0);
  EXPECT_EQ(race.waited_until, early.point().value);
  EXPECT_EQ(race.earlier.point.value, early.point().value + 1);
  EXPECT_THAT(to_string(race), HasSubstr("up to its work 1 only: the Event was recorded before Test_w was submitted"));
}

TEST(Race, IsFoundInWhatTheRuntimeItselfLeavesOut) {
  start();
  Pair pair;
  testing_streams::Gate gate;
  Tensor made;
  Pair::in(pair.a, [&] {
    (void)gate.close("GPU:0");
    made = multiply(pair.x, 2.0F);
  });
  set_edge_filter([](TimelinePoint, TimelinePoint) noexcept { return false; });
  EXPECT_THROW(Pair::in(pair.b, [&] { read_on_device(made); }), RaceDetected);
  set_edge_filter(nullptr);
  EXPECT_NO_THROW(Pair::in(pair.b, [&] { read_on_device(pair.x); }));
}

}  // namespace tutti

// What cannot be replayed is refused with everything that stands in the way: op, line and rule; the program goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/backend.h"
#include "graph/samples.h"

namespace tutti::conformance {
namespace {

using testing::HasSubstr;

class RefusedCaptures : public OnBackend {};

template <class Step, class... Given>
std::string refusal_of(const Step& step, const Given&... given) {
  try {
    (void)step(given...);
  } catch (const CaptureRefused& e) {
    return e.what();
  }
  return "was not refused";
}

TEST_P(RefusedCaptures, ListAllThatStandsInTheWay) {
  Tensor kept;
  const Stream stream(device(0));
  const auto step = capture([&](const Tensor& x) {
    const Tensor y = x * 2;
    if (item<float>(sum(y)) > 0) kept = y + 1;
    const Tensor where_large = nonzero(greater(y, 0.5));
    auto later = read_async<float>(exp(y));
    y.sync();
    Stream(stream).sync();
    return y;
  });
  const std::string told = refusal_of(step, some(1));
  EXPECT_THAT(told, HasSubstr("refused_captures_test.cc"));
  EXPECT_THAT(told, HasSubstr("sum at "));
  EXPECT_THAT(told, HasSubstr("the host reads its value"));
  EXPECT_THAT(told, HasSubstr("depends on values"));
  EXPECT_THAT(told, HasSubstr("exp at "));
  EXPECT_THAT(told, HasSubstr("tensor sync"));
  EXPECT_THAT(told, HasSubstr("stream sync"));
  EXPECT_THAT(told, HasSubstr("is kept outside"));
  EXPECT_THAT(told, HasSubstr("6 things"));
  EXPECT_EQ(read<float>(some(2) + 1), read<float>(some(2) + 1));  // and the program goes on
  const auto fine = capture([](const Tensor& x) { return x + 1; });
  (void)fine(some(3));
  EXPECT_EQ(read<float>(fine(some(4))), read<float>(some(4) + 1));
}

TEST_P(RefusedCaptures, AnArgumentThatIsKeptOutsideIsRefused) {
  Tensor kept;
  const auto step = capture([&](const Tensor& x, const std::vector<Tensor>& more) {
    kept = more[1];
    return x + more[0];
  });
  const std::vector<Tensor> more{some(2), some(3)};
  const std::string told = refusal_of(step, some(1), more);
  EXPECT_THAT(told, HasSubstr("argument 3 at "));
  EXPECT_THAT(told, HasSubstr("is kept outside, where a replay would not renew it; return it"));
  EXPECT_THAT(told, HasSubstr("1 thing "));
  const auto gives_it_back = capture([&](const Tensor& x) { return std::vector{x, x}; });
  EXPECT_EQ(refusal_of(gives_it_back, some(1)), "was not refused");
}

TEST_P(RefusedCaptures, OneTensorBehindTwoPointersIsRefused) {
  const Tensor x = some(1);
  const auto step = capture([](const Tensor* a, const Tensor* b) { return *a - *b * 2; });
  EXPECT_THAT(refusal_of(step, &x, &x), testing::AllOf(HasSubstr("argument 2"), HasSubstr("pass tensors, not pointers")));
  const Tensor y = some(2);
  EXPECT_EQ(numbers(step(&x, &y)), numbers(x - y * 2));
  EXPECT_EQ(numbers(step(&y, &x)), numbers(y - x * 2));
}

TEST_P(RefusedCaptures, ALoopWithoutABoundIsRefused) {
  const auto step = capture([](const Tensor& x) {
    const auto is_large = [](const std::vector<Tensor>& state) { return greater(max(state[0]), 1); };
    const auto halve = [](const std::vector<Tensor>& state) { return std::vector{state[0] * 0.5}; };
    return while_loop(is_large, halve, {x}).state[0];
  });
  EXPECT_THAT(refusal_of(step, some(1)), HasSubstr("most_iterations"));
}

TEST_P(RefusedCaptures, AnEventFromOutsideIsRefused) {
  Stream stream(device(0));
  (void)(some(1) + 1);
  Event outside;
  {
    const StreamScope on(stream);
    (void)(some(1) + 1);
  }
  (void)stream.mark();
  outside.record(stream);
  const auto step = capture([&](const Tensor& x) {
    stream.wait(outside);
    return x + 1;
  });
  EXPECT_THAT(refusal_of(step, some(1)), HasSubstr("recorded outside"));
}

TEST_P(RefusedCaptures, SyncDevicesIsForEagerMode) {
  const auto step = capture([](const Tensor& x) {
    sync_devices();
    return x;
  });
  try {
    (void)step(some(1));
    FAIL() << "it was allowed";
  } catch (const InvalidState& e) {
    EXPECT_THAT(e.what(), HasSubstr("sync_devices() must only be called in Eager mode, outside"));
  }
  sync_devices();
}

TEST_P(RefusedCaptures, AThreadStartedInsideThatUsesValuesOfTheFunctionIsTold) {
  const auto step = capture([&](const Tensor& x) {
    const Tensor y = x * 2;
    std::thread([&] {
      enter_thread();
      const DeviceScope on(device(0));
      (void)exp(y);
    }).join();
    return y;
  });
  const std::string told = refusal_of(step, some(1));
  EXPECT_THAT(told, HasSubstr("exp at tests/graph/refused_captures_test.cc"));
  EXPECT_THAT(told, HasSubstr("another thread uses a value of the function"));
}

TEST_P(RefusedCaptures, AValueThatAThreadStartedInsideMadeIsRefusedWhereverItIsUsed) {
  for (const bool is_returned : {false, true}) {
    const auto step = capture([&](const Tensor& x) {
      Tensor made;
      std::thread([&] {
        enter_thread();
        const DeviceScope on(device(0));
        made = tanh(some(7));
      }).join();
      return is_returned ? std::move(made) : x + made;
    });
    const std::string told = refusal_of(step, some(1));
    EXPECT_THAT(told, HasSubstr("tanh at tests/graph/refused_captures_test.cc"));
    EXPECT_THAT(told, HasSubstr("another thread made it while the function ran"));
  }
}

TEST_P(RefusedCaptures, ThreadsThatHaveNothingToDoWithTheFunctionGoOn) {
  std::atomic<bool> is_over = false;
  const Variable shared(some(3));
  std::thread other([&] {
    enter_thread();
    const DeviceScope on(device(0));
    while (!is_over) (void)(some(5) * shared + 1);
  });
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto step = capture([&](const Tensor& x) { return tanh(x * shared) + some(i); });
    EXPECT_EQ(refusal_of(step, some(1)), "was not refused");
    EXPECT_TRUE(is_same(step(some(2)), tanh(some(2) * shared) + some(i)));
    shared.assign(some(i + 10));
    EXPECT_TRUE(is_same(step(some(2)), tanh(some(2) * shared) + some(i)));
  }
  is_over = true;
  other.join();
}

// Constants are made in memory that the other thread had a moment ago, by the same line.
TEST_P(RefusedCaptures, AThreadThatRunsTheSameCodeMeanwhileIsNoObstacle) {
  const auto body = [](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = y + constant({1.F, 2.F, 3.F});
    return y;
  };
  std::atomic<bool> over{false};
  std::thread other([&] {
    enter_thread();
    const Tensor x = ones({3});
    while (!over) (void)body(x);
  });
  const Tensor x = ones({3});
  for (int i = 0; i < 200; ++i) {
    const auto step = capture(body);
    EXPECT_NO_THROW((void)step(x));
  }
  over = true;
  other.join();
}

TEST_P(RefusedCaptures, AnErrorOfTheFunctionsOwnReachesItsCaller) {
  int runs = 0;
  const auto step = capture([&](const Tensor& x) {
    if (++runs == 1) throw std::runtime_error("not today");
    return x + 1;
  });
  EXPECT_THROW((void)step(some(1)), std::runtime_error);
  EXPECT_EQ(read<float>(step(some(1))), read<float>(some(1) + 1));
  EXPECT_EQ(read<float>(step(some(2))), read<float>(some(2) + 1));
  EXPECT_EQ(runs, 2);
}

TUTTI_ON_EVERY_BACKEND(RefusedCaptures);

}  // namespace
}  // namespace tutti::conformance

// A captured function gives what the function itself would give, and runs it once for each kind of arguments.
#include <gtest/gtest.h>

#include <chrono>
#include <complex>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "conformance/backend.h"
#include "graph/samples.h"

namespace tutti::conformance {
namespace {

class Capture : public OnBackend {};

TEST_P(Capture, RunsTheFunctionOnceAndReplaysIt) {
  int runs = 0;
  const auto function = [&](const Tensor& x, const Tensor& y) {
    ++runs;
    return tanh(matmul(x, transpose(y)) * 0.5) + sum(x);
  };
  const auto step = capture(function);
  for (std::uint64_t i = 0; i < 5; ++i) {
    const Tensor x = some(2 * i);
    const Tensor y = some(2 * i + 1);
    EXPECT_EQ(numbers(step(x, y)), numbers(function(x, y)));
  }
  EXPECT_EQ(runs, 6);  // five of them by hand
}

TEST_P(Capture, NewShapesDtypesLayoutsAndNumbersMakeNewGraphs) {
  int runs = 0;
  const auto step = capture([&](const Tensor& x, double by) {
    ++runs;
    return x * by + 1;
  });
  EXPECT_EQ(numbers(step(some(1), 2.0)), numbers(some(1) * 2.0 + 1));
  EXPECT_EQ(numbers(step(some(2, {3, 3}), 2.0)), numbers(some(2, {3, 3}) * 2.0 + 1));
  EXPECT_EQ(numbers(step(transpose(some(1)), 2.0)), numbers(transpose(some(1)) * 2.0 + 1));
  EXPECT_EQ(numbers(step(some(1), 3.0)), numbers(some(1) * 3.0 + 1));
  EXPECT_EQ(read<double>(step(cast(some(1), DType::f64), 2.0)), read<double>(cast(some(1), DType::f64) * 2.0 + 1));
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(numbers(step(some(9), 2.0)), numbers(some(9) * 2.0 + 1));
  EXPECT_EQ(runs, 5);
}

TEST_P(Capture, TheCacheIsBoundedAndKeepsWhatWasUsedLast) {
  int runs = 0;
  const auto step = capture(
      [&](const Tensor& x) {
        ++runs;
        return x + 1;
      },
      {.most_graphs = 2});
  (void)step(some(1, {1}));
  (void)step(some(1, {2}));
  (void)step(some(1, {1}));
  (void)step(some(1, {3}));  // in place of {2}
  EXPECT_EQ(runs, 3);
  (void)step(some(1, {1}));
  EXPECT_EQ(runs, 3);
  (void)step(some(1, {2}));
  EXPECT_EQ(runs, 4);
}

struct Batch {
  Tensor inputs;
  std::vector<Tensor> more;
  std::map<std::string, Tensor> named;
};

TEST_P(Capture, TakesAndGivesAnyNesting) {
  const auto function = [](const Batch& batch, const std::tuple<Tensor, int>& other) {
    Batch out = batch;
    out.inputs = batch.inputs + std::get<0>(other);
    for (Tensor& each : out.more) each = each * 2;
    out.named["sum"] = sum(out.inputs);
    return std::pair(out, std::vector{Tensor(), out.inputs});
  };
  const auto step = capture(function);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Batch batch{some(i), {some(i + 10), some(i + 20)}, {{"a", some(i + 30)}}};
    const auto given = step(batch, std::tuple(some(i + 40), 3));
    const auto wanted = function(batch, std::tuple(some(i + 40), 3));
    EXPECT_EQ(numbers(given.first.inputs), numbers(wanted.first.inputs));
    EXPECT_EQ(numbers(given.first.more[1]), numbers(wanted.first.more[1]));
    EXPECT_EQ(numbers(given.first.named.at("a")), numbers(wanted.first.named.at("a")));
    EXPECT_EQ(numbers(given.first.named.at("sum")), numbers(wanted.first.named.at("sum")));
    EXPECT_FALSE(given.second[0].is_defined());
    EXPECT_EQ(numbers(given.second[1]), numbers(wanted.second[1]));
  }
}

// The same tensors, nested in another way, are other arguments.
TEST_P(Capture, HowArgumentsAreNestedTellsGraphsApart) {
  const Tensor x = full({2}, 1.F);
  const Tensor y = full({2}, 10.F);
  const Tensor z = full({2}, 100.F);
  const auto lists = [](const std::vector<Tensor>& added, const std::vector<Tensor>& taken) {
    Tensor out = zeros({2});
    for (const Tensor& each : added) out = out + each;
    for (const Tensor& each : taken) out = out - each;
    return out;
  };
  const auto of_lists = capture(lists);
  const std::vector<std::pair<std::vector<Tensor>, std::vector<Tensor>>> given{{{x, y}, {z}}, {{x}, {y, z}}, {{}, {x, y, z}}};
  using Optional = std::optional<Tensor>;
  const auto optionals = [](const Tensor& a, const Optional& by, const Optional& more) {
    Tensor out = a;
    if (by) out = out * *by;
    if (more) out = out + *more;
    return out;
  };
  const auto of_optionals = capture(optionals);
  const auto of_maps = capture([](const std::map<std::string, Tensor>& map) { return map; });
  for (int i = 0; i < 2; ++i) {
    for (const auto& [added, taken] : given) EXPECT_EQ(numbers(of_lists(added, taken)), numbers(lists(added, taken)));
    EXPECT_EQ(numbers(of_optionals(y, Optional(x), Optional())), numbers(optionals(y, x, {})));
    EXPECT_EQ(numbers(of_optionals(y, Optional(), Optional(x))), numbers(optionals(y, {}, x)));
    for (const char* name : {"a", "b"}) EXPECT_EQ(of_maps(std::map<std::string, Tensor>{{name, x}}).count(name), 1U);
  }
}

TEST_P(Capture, ValuesThatAreNoNumbersTellGraphsApartToo) {
  const auto exact = capture([](const Tensor& x, long double by) { return x * static_cast<double>(by); });
  const auto complex = capture([](const Tensor& x, std::complex<double> z) { return x * z.imag(); });
  const auto timed =
      capture([](const Tensor& x, std::chrono::milliseconds time) { return x * static_cast<double>(time.count()); });
  int runs = 0;
  const auto either = capture([&](const Tensor& x, std::variant<int, double> by) {
    ++runs;
    return x * std::visit([](auto value) { return static_cast<double>(value); }, by);
  });
  for (const int by : {1, 2, 3, 1}) {
    const std::vector<float> wanted(1, static_cast<float>(by));
    EXPECT_EQ(numbers(exact(ones({1}), static_cast<long double>(by))), wanted);
    EXPECT_EQ(numbers(complex(ones({1}), std::complex<double>(7, by))), wanted);
    EXPECT_EQ(numbers(timed(ones({1}), std::chrono::milliseconds(by))), wanted);
    EXPECT_EQ(numbers(either(ones({1}), std::variant<int, double>(by))), wanted);
  }
  EXPECT_EQ(runs, 3);
  // Of one value and two types, with results of two types.
  const auto typed = capture([](const Tensor& x, auto number) { return std::pair(x, number); });
  EXPECT_EQ(typed(ones({1}), 0).second, 0);
  EXPECT_EQ(typed(ones({1}), 0.0).second, 0.0);
  EXPECT_EQ(typed(ones({1}), std::string()).second, "");
}

TEST_P(Capture, DrawsFromTheGeneratorThatItIsGiven) {
  const auto draw = [](const Tensor& x, Generator* from) { return x + uniform({4}, {.generator = from}); };
  const auto drawn = [&](const auto& function) {
    Generator one(1);
    Generator other(2);
    std::vector<std::vector<float>> out;
    for (Generator* each : {&one, &other, &other, &one}) out.push_back(numbers(function(zeros({4}), each)));
    return out;
  };
  EXPECT_EQ(drawn(capture(draw)), drawn(draw));
}

TEST_P(Capture, ResultsThatAreHeldAreNotOverwritten) {
  const auto step = capture([](const Tensor& x) { return x * 2; });
  std::vector<Tensor> held;
  for (std::uint64_t i = 0; i < 6; ++i) held.push_back(step(some(i)));
  for (std::uint64_t i = 0; i < 6; ++i) EXPECT_EQ(numbers(held[i]), numbers(some(i) * 2));
}

TEST_P(Capture, AnArgumentOrAViewOfItMayBeGivenBack) {
  const auto step = capture([](const Tensor& x) { return std::vector{x, transpose(x), slice(x, 0, {1, 3})}; });
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Tensor whole = some(i, {8, 6});
    const Tensor x = slice(whole, 0, {static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 4});
    const std::vector<Tensor> got = step(x);
    EXPECT_EQ(numbers(got[0]), numbers(x));
    EXPECT_EQ(numbers(got[1]), numbers(transpose(x)));
    EXPECT_EQ(numbers(got[2]), numbers(slice(x, 0, {1, 3})));
  }
}

TEST_P(Capture, ATensorTakenFromOutsideIsNotTakenForTheArgumentThatItWas) {
  const Tensor w = some(7);
  const auto step = capture([w](const Tensor& x) { return x + w * 2; });
  EXPECT_EQ(numbers(step(w)), numbers(w + w * 2));
  EXPECT_EQ(numbers(step(some(8))), numbers(some(8) + w * 2));
}

TEST_P(Capture, TheSameTensorTwiceIsTwoArguments) {
  const auto step = capture([](const Tensor& x, const Tensor& y) { return x - y * 2; });
  EXPECT_EQ(numbers(step(some(1), some(1))), numbers(some(1) - some(1) * 2));
  const Tensor x = some(2);
  EXPECT_EQ(numbers(step(x, x)), numbers(x - x * 2));
  EXPECT_EQ(numbers(step(some(3), some(4))), numbers(some(3) - some(4) * 2));
}

TEST_P(Capture, WhatTheFunctionTakesFromOutsideIsKept) {
  auto w = std::make_unique<Tensor>(some(5));
  const std::vector<float> wanted = numbers(some(1) * *w + 3);
  const auto step = capture([&w](const Tensor& x) { return x * *w + constant({3.F}); });
  EXPECT_EQ(numbers(step(some(1))), wanted);
  w.reset();
  std::vector<Tensor> others;  // whatever takes its memory
  for (std::uint64_t i = 0; i < 20; ++i) others.push_back(some(i + 100));
  EXPECT_EQ(numbers(step(some(1))), wanted);
}

TEST_P(Capture, DrawsAdvance) {
  const auto function = [](const Tensor& x) { return dropout(x, 0.5) + uniform(x.shape()); };
  const auto step = capture(function);
  set_seed(4);
  std::vector<std::vector<float>> wanted;
  for (std::uint64_t i = 0; i < 4; ++i) wanted.push_back(numbers(function(some(i))));
  set_seed(4);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(numbers(step(some(i))), wanted[i]);
  EXPECT_NE(wanted[0], wanted[1]);
}

TEST_P(Capture, AGeneratorThatIsGoneIsDrawnFromAsBefore) {
  std::optional<Generator> own(std::in_place, 7);
  Generator same(7);
  const auto step = capture([&](const Tensor& x) { return x + uniform(x.shape(), {.generator = &*own}); });
  for (std::uint64_t i = 0; i < 4; ++i) {
    if (i == 2) own.emplace(99);  // another one, where the first one was
    EXPECT_EQ(numbers(step(some(i))), numbers(some(i) + uniform({4, 6}, {.generator = &same}))) << i;
  }
}

TEST_P(Capture, GradientsDropWhatTheirReplayDropped) {
  const auto once = [](const Tensor& x) { return grad([](const Tensor& y) { return sum(dropout(square(y), 0.5)); })(x); };
  const auto again = [](const Tensor& x) {
    return grad([](const Tensor& y) { return sum(checkpoint([](const Tensor& z) { return dropout(square(z), 0.5); })(y)); })(x);
  };
  const auto with_key = [](const Tensor& x) {
    return grad([](const Tensor& y) { return sum(dropout(square(y), 0.5, {.key = 4}) + dropout(y, 0.5)); })(x);
  };
  const auto compare = [](const auto& function) {
    const auto step = capture(function);
    set_seed(4);
    std::vector<std::vector<float>> wanted;
    for (std::uint64_t i = 0; i < 4; ++i) wanted.push_back(numbers(function(some(i))));
    set_seed(4);
    for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(numbers(step(some(i))), wanted[i]) << i;
  };
  compare(once);
  compare(again);
  compare(with_key);
}

TEST_P(Capture, CapturesInsideCapturesAreOne) {
  int runs = 0;
  const auto inner = capture([&](const Tensor& x) {
    ++runs;
    return x * 2;
  });
  const auto outer = capture([&](const Tensor& x) { return inner(x) + inner(x + 1); });
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(numbers(outer(some(i))), numbers(some(i) * 2 + (some(i) + 1) * 2));
  EXPECT_EQ(runs, 2);
}

TEST_P(Capture, GradientsAreCapturedAndCapturesAreDifferentiated) {
  const auto loss = [](const Tensor& w, const Tensor& x) { return mean(square(matmul(x, w))); };
  const auto both = value_and_grad(loss);
  const auto step = capture([&](const Tensor& w, const Tensor& x) { return both(w, x).grads; });
  const auto through = value_and_grad(capture(loss));
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Tensor w = some(i, {6, 3});
    const Tensor x = some(i + 50);
    EXPECT_EQ(numbers(step(w, x)), numbers(both(w, x).grads));
    EXPECT_EQ(numbers(through(w, x).grads), numbers(both(w, x).grads));
  }
}

TEST_P(Capture, LoopsOfABoundedLengthAreReplayedOnNewValues) {
  const auto function = [](const Tensor& x) {
    const auto is_large = [](const std::vector<Tensor>& state) { return greater(max(state[0]), 1); };
    const auto halve = [](const std::vector<Tensor>& state) { return std::vector{state[0] * 0.5}; };
    return while_loop(is_large, halve, {x}, {.most_iterations = 6}).state[0];
  };
  const auto step = capture(function);
  for (const double by : {1.0, 3.0, 40.0, 0.1}) EXPECT_EQ(numbers(step(some(1) * by)), numbers(function(some(1) * by)));
}

TEST_P(Capture, ASecondDeviceAndSeveralStreamsArePartOfIt) {
  const std::vector<std::string> devices = all_devices();
  const Stream side(devices.back());
  const auto function = [&](const Tensor& x) {
    const Tensor moved = copy_to(x * 2, devices.back());
    Tensor other;
    {
      const StreamScope on(side);
      other = exp(moved) + 1;
    }
    const DeviceScope back(devices.front());
    return copy_to(other, devices.front()) + x;
  };
  const auto step = capture(function);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(numbers(step(some(i))), numbers(function(some(i))));
}

TEST_P(Capture, AnEventOfTheProgramsIsRecordedAgainInEveryReplay) {
  if (GetParam().backend == "cpu") GTEST_SKIP() << "what it does at once has no place on a stream";
  Stream stream(device(0));
  Event done;
  const auto function = [&](const Tensor& x) {
    const StreamScope on(stream);
    Tensor y = exp(x);
    done.record(stream);
    return y;
  };
  const auto step = capture(function);
  for (int i = 0; i < 4; ++i) {
    if (i == 2) done.record(stream);  // by the program in between
    const TimelinePoint before = done.point();
    const Tensor y = step(some(1));
    EXPECT_TRUE(done.point().stream == stream.id() && done.point().value > before.value) << "call " << i;
    done.sync();
    EXPECT_TRUE(y.is_ready());
  }
  const Event copy = done;
  (void)step(some(2));
  EXPECT_LT(copy.point().value, done.point().value) << "a copy stays where it was made";
  done = copy;
  EXPECT_EQ(copy.point().value, done.point().value);
  (void)step(some(3));
  EXPECT_LT(copy.point().value, done.point().value) << "it is the program's event still";
}

// The stream has no work of its own: the event is what it waits for.
TEST_P(Capture, AnEventBehindAWaitIsBehindWhatIsWaitedFor) {
  if (GetParam().backend == "cpu") GTEST_SKIP() << "what it does at once has no place on a stream";
  for (const bool has_work : {true, false}) {
    Stream working(device(0));
    Stream joining(device(0));
    Stream later(device(0));
    Event done;
    const auto function = [&](const Tensor& x) {
      Tensor y = x;
      if (has_work) {
        const StreamScope on(working);
        y = exp(x);
      }
      joining.wait(working);
      later.wait(joining);
      done.record(later);
      return y;
    };
    const auto step = capture(function);
    for (int i = 0; i < 3; ++i) {
      const Tensor x = some(1);
      {
        const StreamScope on(working);
        (void)exp(x);
      }
      (void)step(x);
      done.sync();
      EXPECT_TRUE(working.base().is_idle()) << (has_work ? "its own work" : "the program's") << ", call " << i;
    }
  }
}

TEST_P(Capture, AWaitAtItsEndIsForWhatComesBehindIt) {
  if (GetParam().backend != "sim") GTEST_SKIP() << "races are looked for on simulated GPUs";
  Stream first(device(0));
  Stream second(device(0));
  const auto function = [&](const Tensor& x) {
    Tensor y;
    {
      const StreamScope on(second);
      y = exp(x);
    }
    first.wait(second);
    return y;
  };
  const auto step = capture(function);
  const Tensor x = some(1);
  (void)step(x);
  sync_devices();
  set_race_detection(RaceDetection::error);
  for (int i = 0; i < 3; ++i) {
    const Tensor y = step(x);
    const ManualOrder mine;
    const StreamScope on(first);
    EXPECT_NO_THROW((void)tanh(y));
    sync_devices();
  }
}

TEST_P(Capture, IsAnotherGraphAfterTraining) {
  const BatchNorm norm(6);
  const Dropout dropout{0.5};
  const auto forward = capture([&](const Tensor& x) { return dropout(norm(x)); });
  for (std::uint64_t i = 0; i < 3; ++i) (void)forward(some(i));
  const std::vector<float> statistics = numbers(norm.running_mean.value());
  const Evaluation now;
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(numbers(forward(some(i))), numbers(norm(some(i))));
  EXPECT_EQ(numbers(norm.running_mean.value()), statistics);
}

TEST_P(Capture, IsAnotherGraphWhereASettingOfTheWholeProcessIsAnother) {
  const auto step = capture([](const Tensor& x) { return exp(x) * 2; });
  const auto graphs_after_a_call = [&] {
    (void)step(some(1));
    const std::string told = explain(step);
    return std::stoi(told.substr(told.find(" graph") - 1));
  };
  EXPECT_EQ(graphs_after_a_call(), 1);
  set_allow_tf32(true);
  EXPECT_EQ(graphs_after_a_call(), 2);
  set_deterministic(false);
  EXPECT_EQ(graphs_after_a_call(), 3);
  set_allow_tf32(false);
  set_deterministic(true);
  EXPECT_EQ(graphs_after_a_call(), 3) << "the first is there";
}

TEST_P(Capture, IsAnotherGraphOnceALayerIsFrozen) {
  const BatchNorm norm(6);
  const auto forward = capture([&](const Tensor& x) { return norm(x); });
  for (std::uint64_t i = 0; i < 3; ++i) (void)forward(some(i));
  freeze(norm);
  const std::vector<float> statistics = numbers(norm.running_mean.value());
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(numbers(forward(some(i))), numbers(norm(some(i))));
  EXPECT_EQ(numbers(norm.running_mean.value()), statistics);
}

TEST_P(Capture, TellsWhatItHasRecorded) {
  const auto step = capture([](const Tensor& x) { return exp(x) * 2 + 1; });
  (void)step(some(1));
  (void)step(some(2));
  const std::string told = explain(step);
  EXPECT_NE(told.find("1 graph"), std::string::npos) << told;
  EXPECT_NE(told.find("Exp float32(4, 6)"), std::string::npos) << told;
  EXPECT_NE(told.find("1 replay"), std::string::npos) << told;
}

TUTTI_ON_EVERY_BACKEND(Capture);

}  // namespace
}  // namespace tutti::conformance

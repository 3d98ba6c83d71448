// Draws without a key: they advance, a seed repeats them, and no two ever have a number in common.
#include <algorithm>
#include <set>
#include <thread>

#include "conformance/backend.h"

namespace tutti::conformance {

namespace {

using Values = std::vector<double>;

Values values_of(const Tensor& x) { return read<double>(cast(reshape(x, {-1}), DType::f64)); }

// Every function that draws, once.
std::vector<Values> draws(Generator* from = nullptr) {
  return {values_of(uniform({40}, {.generator = from})),
          values_of(uniform({40}, {.dtype = DType::f64, .generator = from})),
          values_of(normal({40}, {.generator = from})),
          values_of(normal({41}, {.dtype = DType::f64, .generator = from})),
          values_of(randint({40}, 0, 1'000'000, {.generator = from})),
          values_of(randint({43}, 0, 1'000'000, {.dtype = DType::i32, .generator = from})),
          values_of(bernoulli({400}, 0.5, {.generator = from})),
          values_of(permutation(40, {.generator = from})),
          values_of(permutation(arange(40), {.generator = from})),
          values_of(dropout(ones({20, 20}), 0.5, {.generator = from}))};
}

// All integers of 64 bits: two of them are alike only where they are the same number of the generator.
Tensor words(std::int64_t count, Generator* from) { return randint({count}, INT64_MIN, INT64_MAX, {.generator = from}); }

}  // namespace

class Generators : public OnBackend {};
TUTTI_ON_EVERY_BACKEND(Generators);

TEST_P(Generators, EveryDrawGivesOtherNumbersThanTheOneBefore) {
  const std::vector<Values> first = draws();
  const std::vector<Values> second = draws();
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_NE(first[i], second[i]) << "function " << i;
}

TEST_P(Generators, ASeedMakesAProgramRepeat) {
  set_seed(42);
  const std::vector<Values> first = draws();
  set_seed(42);
  EXPECT_EQ(draws(), first);
  set_seed(43);
  EXPECT_NE(draws(), first);
}

TEST_P(Generators, OneOfTheProgramsOwnDoesNotTouchTheDefault) {
  set_seed(7);
  const std::vector<Values> from_default = draws();
  set_seed(7);
  Generator own(7);
  EXPECT_EQ(draws(&own), from_default) << "the same seed";
  EXPECT_EQ(draws(), from_default) << "which was left alone";
  EXPECT_NE(draws(&own), from_default) << "it has gone on";
}

TEST_P(Generators, ADrawTakesAsManyBlocksAsItNeedsFromWhereTheGeneratorStands) {
  Generator g(99);
  EXPECT_EQ(g.seed(), 99U);
  const auto steps = [&](const auto& draw) {
    const std::uint64_t before = g.reserve(0).counter;
    draw();
    return g.reserve(0).counter - before;
  };
  EXPECT_EQ(steps([&] { uniform({9}, {.generator = &g}); }), 3U);
  EXPECT_EQ(steps([&] { uniform({9}, {.dtype = DType::f64, .generator = &g}); }), 5U);
  EXPECT_EQ(steps([&] { normal({9}, {.dtype = DType::f16, .generator = &g}); }), 3U);
  EXPECT_EQ(steps([&] { randint({9}, 0, 5, {.generator = &g}); }), 5U);
  EXPECT_EQ(steps([&] { bernoulli({9}, 0.5, {.dtype = DType::f64, .generator = &g}); }), 3U);
  EXPECT_EQ(steps([&] { permutation(9, {.generator = &g}); }), 5U);
  EXPECT_EQ(steps([&] { dropout(ones({9}), 0.5, {.generator = &g}); }), 3U);
  EXPECT_EQ(steps([&] { uniform({0}, {.generator = &g}); }), 0U);
  EXPECT_EQ(steps([&] { EXPECT_THROW(uniform({9}, {.low = 2, .generator = &g}), InvalidArgument); }), 0U)
      << "what is refused takes none";
  const Generator::Reserved from = g.reserve(0);
  EXPECT_EQ(values_of(normal({17}, {.key = from.key, .counter = from.counter})), values_of(normal({17}, {.generator = &g})));
}

TEST_P(Generators, AKeyAndACounterGiveTheirNumbersHoweverOftenAndMoveNothing) {
  Generator g(5);
  const Values whole = values_of(uniform({12}, {.key = 5}));
  EXPECT_EQ(values_of(uniform({12}, {.key = 5})), whole);
  EXPECT_EQ(values_of(uniform({12}, {.generator = &g})), whole) << "the key of a generator is its seed";
  EXPECT_EQ(values_of(uniform({4}, {.key = 5, .counter = 2})), Values(whole.begin() + 8, whole.end()));
  set_seed(5);
  (void)uniform({12}, {.key = 5});
  EXPECT_EQ(values_of(uniform({12})), whole);
}

TEST_P(Generators, AKeyAndAGeneratorAtOnceOrACounterWithoutAKeyAreRefused) {
  Generator g(1);
  EXPECT_THROW(uniform({2}, {.key = 1, .generator = &g}), InvalidArgument);
  EXPECT_THROW(normal({2}, {.counter = 3}), InvalidArgument);
  EXPECT_THROW(dropout(ones({2}), 0.5, {.counter = 3, .generator = &g}), InvalidArgument);
}

TEST_P(Generators, ThreadsThatDrawAtOnceShareNoNumber) {
  constexpr int threads = 4;
  constexpr int rounds = 30;
  constexpr std::int64_t size = 33;
  Generator g(11);
  std::vector<std::vector<Tensor>> drawn(threads);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      enter_thread();
      const DeviceScope on(device(0));
      for (int i = 0; i < rounds; ++i) drawn[static_cast<std::size_t>(t)].push_back(words(size, &g));
    });
  }
  for (std::thread& each : running) each.join();
  std::set<std::int64_t> seen;
  for (const auto& tensors : drawn) {
    for (const Tensor& x : tensors) {
      for (const std::int64_t word : read<std::int64_t>(x)) EXPECT_TRUE(seen.insert(word).second) << word;
    }
  }
}

TEST_P(Generators, DrawingMakesNoSync) {
  const SyncScope strict(OnSync::error);
  for (int i = 0; i < 20; ++i) (void)normal({100});
  set_seed(3);
  Generator own;
  (void)permutation(100, {.generator = &own});
}

}  // namespace tutti::conformance

// The gradient of every function, against what small changes of its inputs change: shapes, views and values are random. A failure
// tells its seed; GTEST_RANDOM_SEED=seed repeats it.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "conformance/backend.h"
#include "conformance/random_calls.h"
#include "tutti/ops/catalogue.h"
#include "tutti/tutti.h"

namespace tutti::conformance {

namespace {

std::uint64_t first_seed() {
  const auto asked = static_cast<std::uint64_t>(GTEST_FLAG_GET(random_seed));
  return asked != 0 ? asked : 1 + std::random_device{}() % 99'999;  // what GoogleTest takes for one
}

// All that a call gave as one number, every element with a weight of its own; undefined: nothing floating came of it.
Tensor loss_of(const RandomCall& each, Draw& draw) {
  set_seed(7);
  Tensor total;
  std::uint64_t key = 1'000'000;
  for (const Tensor& result : each.call(draw)) {
    ++key;
    if (!is_floating(result.dtype())) continue;
    const DeviceScope there(result.device());
    const Tensor weights = uniform(result.shape(), {.key = key, .low = 0.5, .high = 1.5, .dtype = result.dtype()});
    const Tensor part = cast(sum(result * weights), DType::f64);
    total = total.is_defined() ? total + copy_to(part, total.device()) : part;
  }
  return total;
}

Tensor along(const std::vector<Tensor>& gradients, const std::vector<Draw::Leaf>& leaves) {
  Tensor out = zeros({}, DType::f64);
  for (std::size_t i = 0; i < leaves.size(); ++i) out = out + sum(gradients[i] * leaves[i].direction);
  return out;
}

std::vector<Tape::Wanted> all_of(const std::vector<Draw::Leaf>& leaves) {
  std::vector<Tape::Wanted> out;
  for (const Draw::Leaf& leaf : leaves) out.push_back({.tensor = &leaf.value});
  return out;
}

// Where a call is looked at: its shapes and views, its values, and how far these are moved.
struct Point {
  std::uint64_t seed = 0;
  std::uint64_t values = 0;
  double by = 0;
};

double value_at(const RandomCall& each, const Point& at) {
  Draw draw(at.seed, at.values, at.by);
  return item<double>(loss_of(each, draw));
}

// How it changes along the directions of its operands, by its gradients; undefined: nothing floating came of it.
Tensor slope(const RandomCall& each, Draw& draw, Tape& tape) {
  Tensor loss;
  {
    const Tape::Recording on(tape);
    loss = loss_of(each, draw);
  }
  if (!loss.is_defined()) return {};
  return along(tape.gradients(loss, all_of(draw.leaves())), draw.leaves());
}
Tensor slope_at(const RandomCall& each, const Point& at) {
  const SyncScope strict(OnSync::error);  // nothing of it waits
  Tape tape;
  Draw draw(at.seed, at.values, at.by, {&tape});
  return slope(each, draw, tape);
}
Tensor second_slope_at(const RandomCall& each, const Point& at) {
  const SyncScope strict(OnSync::error);
  Tape outer;
  Tape inner;
  Draw draw(at.seed, at.values, at.by, {&inner, &outer});
  Tensor first;
  {
    const Tape::Recording on(outer);
    first = slope(each, draw, inner);
  }
  if (!first.is_defined()) return {};
  return along(outer.gradients(first, all_of(draw.leaves())), draw.leaves());
}

struct Seen {
  bool changes = false;
  std::string refused;  // why
};

// What a gradient says, against the values around it. A corner may lie between two of them; hardly once more with other elements
// and nearer to each other.
template <class Gradient, class Value>
Seen compare(const RandomCall& each, std::uint64_t seed, Gradient&& gradient, Value&& value) {
  Seen seen;
  double expected = 0;
  double found = 0;
  double step = 1e-6;
  for (std::uint64_t values = 1; values <= 2; ++values, step /= 8) {
    Tensor said;
    try {
      said = gradient(each, Point{seed, values});
    } catch (const NoGradient& error) {
      seen.refused = error.what();
      return seen;
    }
    if (!said.is_defined()) return seen;
    expected = item<double>(said);
    found = (value(each, Point{seed, values, step}) - value(each, Point{seed, values, -step})) / (2 * step);
    seen.changes = std::abs(found) > 1e-4;
    if (std::abs(expected - found) <= 2e-5 * (1 + std::abs(found))) return seen;
  }
  EXPECT_EQ(expected, found) << "by the gradient, and by small changes";
  return seen;
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t rounds = 2;
#else
constexpr std::uint64_t rounds = 8;
#endif

// Every function as often as there are rounds, by name: what was seen of it in any.
template <class Check>
std::map<std::string_view, Seen> each_call(const std::string& type, Check&& check) {
  const std::uint64_t first = first_seed();
  std::map<std::string_view, Seen> all;
  for (const RandomCall& each : random_calls_on(type)) {
    Seen& known = all[each.function];
    for (std::uint64_t seed = first; seed < first + rounds; ++seed) {
      SCOPED_TRACE(std::string(each.function) + ": seed " + std::to_string(seed));
      Seen seen;
      EXPECT_NO_THROW(seen = check(each, seed));
      known.changes = known.changes || seen.changes;
      if (!seen.refused.empty()) known.refused = seen.refused;
    }
  }
  return all;
}

// Which some shapes and options do not show.
bool changes_with_its_operands(const std::string& type, std::string_view function) {
  for (const RandomCall& each : random_calls_on(type)) {
    for (std::uint64_t seed = 1; each.function == function && seed <= 50; ++seed) {
      if (compare(each, seed, slope_at, value_at).changes) return true;
    }
  }
  return false;
}

class Gradients : public OnBackend {};

TEST_P(Gradients, OfEachFunctionAreWhatSmallChangesShowAndAsTheCatalogueTells) {
  const std::string& type = GetParam().type;
  const std::map<std::string_view, Seen> all =
      each_call(type, [](const RandomCall& each, std::uint64_t seed) { return compare(each, seed, slope_at, value_at); });
  for (const CatalogueSection& section : catalogue()) {
    for (const CatalogueEntry& entry : section.entries) {
      if (!section.takes_tensors) continue;
      const std::string told = gradient_of(entry);
      SCOPED_TRACE(std::string(entry.name) + ": " + told);
      const auto found = all.find(entry.name);
      if (found == all.end()) {
        EXPECT_TRUE(told.starts_with("none: ")) << "give it a line in random_calls.cc or its like";
        continue;
      }
      const auto& [changes, refused] = found->second;
      EXPECT_EQ(changes || (told == "yes" && changes_with_its_operands(type, entry.name)), told == "yes");
      if (refused.empty()) continue;
      const std::string why = told.substr(told.find(' ') + 1);
      EXPECT_NE(refused.find(" has no gradient: " + why), std::string::npos) << refused;
    }
  }
}

TEST_P(Gradients, OfGradientsAreWhatSmallChangesOfThemShow) {
  if (GetParam().seed > 1) GTEST_SKIP() << "rules are made of ops: two schedules are enough";
  each_call(GetParam().type, [](const RandomCall& each, std::uint64_t seed) {
    return compare(each, seed, second_slope_at,
                   [](const RandomCall& call, const Point& at) { return item<double>(slope_at(call, at)); });
  });
}

TUTTI_ON_EVERY_BACKEND(Gradients);

}  // namespace

}  // namespace tutti::conformance

// Every call of a program can be seen and run again: each function that makes a tensor is recorded and run on fresh inputs.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "conformance/backend.h"
#include "conformance/recorded_cases.h"
#include "conformance/recorder.h"
#include "tutti/ops/catalogue.h"
#include "tutti/tutti.h"

namespace tutti::conformance {

testing::AssertionResult are_same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) {
    return testing::AssertionFailure() << to_string(a.dtype()) << to_string(a.shape()) << " and " << to_string(b.dtype())
                                       << to_string(b.shape());
  }
  const Tensor x = detail::to_host(a, SyncReason::value_read, Intent::unstated, Site{});
  const Tensor y = detail::to_host(b, SyncReason::value_read, Intent::unstated, Site{});
  const auto bytes = static_cast<std::size_t>(x.size()) * size_of(x.dtype());
  if (bytes == 0 || std::memcmp(x.impl().address(), y.impl().address(), bytes) == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure() << to_string(a) << "\nand\n" << to_string(b);
}

namespace {

// They make no tensor, or one of memory that is not the runtime's: an input of a record.
const std::set<std::string_view> without_calls{
    "wrap_host_memory", "wrap_device_memory", "from_dlpack", "to_dlpack", "is_pinned", "item", "read",
    "read_all",         "read_async",         "try_read",    "to_string"};

class Recording : public OnBackend {};

void record_and_run_again(const Case& each) {
  const Inputs recorded_with(100);
  const Inputs fresh(200);
  Recorder recorder;
  for (const Tensor& input : recorded_with.all()) recorder.add_input(input);
  Results recorded;
  set_seed(1);
  {
    const ExecutorScope scope(recorder);
    recorded = each.call(recorded_with);
  }
  for (const Tensor& result : recorded) ASSERT_TRUE(recorder.has(result)) << "a result was made by no call that was seen";
  set_seed(2);
  const Results plain = each.call(fresh);
  set_seed(2);
  const std::vector<Tensor> values = recorder.replay(fresh.all());
  ASSERT_EQ(plain.size(), recorded.size());
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_TRUE(are_same(plain[i], values[recorder.slot_of(recorded[i])])) << "result " << i << " of\n" << recorder.text();
}

TEST_P(Recording, OfEachFunctionRunsAgainOnFreshInputs) {
  for (const Case& each : cases_on(GetParam().type)) {
    SCOPED_TRACE(each.function);
    EXPECT_NO_THROW(record_and_run_again(each));
  }
}

void infer_like_first(Inference& in) { in.output(in.dtype(0), in.shape(0)); }

struct ScaleAttributes {
  float by = 1;
};
void scale(const KernelCall& call, KernelContext&) {
  const auto by = call.attributes->as<ScaleAttributes>().by;
  for (std::int64_t i = 0; i < call.in(0).count(); ++i) call.out().as<float>()[i] = call.in(0).as<float>()[i] * by;
}

TEST_P(Recording, OfAnOpOfTheUsersOwnRunsAgainOnFreshInputs) {
  const OpRow& own = register_op({.name = "ScaledByAUser", .infer = infer_like_first}, {.cpu = scale, .sim = scale});
  record_and_run_again({"call_op", [&](const Inputs& in) -> Results {
                          return {call_op(own, std::vector{transpose(in.x)}, Attributes(ScaleAttributes{3}))[0] + 1};
                        }});
}

TEST_P(Recording, OfADrawGoesOnWhenItsGeneratorIsGone) {
  std::optional<Generator> own(std::in_place, 7);
  Recorder recorder;
  Tensor drawn;
  {
    const ExecutorScope scope(recorder);
    drawn = uniform({8}, {.generator = &*own});
  }
  own.emplace(99);  // another one, where the first one was
  const Tensor next = recorder.replay({})[recorder.slot_of(drawn)];
  EXPECT_TRUE(are_same(concat({drawn, next}), uniform({16}, {.key = 7})));
}

TEST_P(Recording, SeesNothingOfWhatTheRuntimeDoesOnTheWay) {
  const Tensor elsewhere = copy_to(ones({4}), device(1));
  Recorder recorder;
  {
    const ExecutorScope scope(recorder);
    (void)add(elsewhere, ones({4}));  // copied here first
    (void)reshape(transpose(ones({2, 3})), {6});
  }
  EXPECT_EQ(recorder.text(), "Fill\nAddV2\nFill\nTranspose([1, 0])\nReshape([6])\n");
}

TUTTI_ON_EVERY_BACKEND(Recording);

TEST(RecordingCases, AreThereForEveryFunctionThatMakesATensor) {
  std::set<std::string_view> covered = without_calls;
  for (const Case& each : cases_on("CPU")) covered.insert(each.function);
  std::set<std::string_view> catalogued;
  for (const CatalogueSection& section : catalogue()) {
    if (!section.takes_tensors) continue;
    for (const CatalogueEntry& entry : section.entries) {
      catalogued.insert(entry.name);
      EXPECT_TRUE(covered.contains(entry.name)) << entry.name << " has no case: add one that records it";
    }
  }
  for (const std::string_view each : covered) EXPECT_TRUE(catalogued.contains(each)) << each << " is not in the catalogue";
}

}  // namespace

}  // namespace tutti::conformance

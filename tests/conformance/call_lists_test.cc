// What a function calls depends on shapes, dtypes and attributes: however its inputs lie in memory and wherever they are, the
// calls are the same.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "conformance/backend.h"
#include "conformance/recorded_cases.h"
#include "conformance/recorder.h"

namespace tutti::conformance {
namespace {

Tensor stored_transposed(const Tensor& x) { return transpose(contiguous(transpose(x))); }

// The first element along the first axis stands for all of them.
Tensor repeating(const Tensor& x) { return broadcast_to(slice(x, 0, {0, 1}), x.shape()); }

class CallLists : public OnBackend {
 protected:
  void SetUp() override {
    OnBackend::SetUp();
    if (IsSkipped()) return;
    inputs_.emplace(100);
    for (const Case& each : cases_on(GetParam().type)) expected_.push_back(calls(each, *inputs_));
  }

  static std::string calls(const Case& each, const Inputs& inputs) {
    Recorder recorder;
    const ExecutorScope scope(recorder);
    (void)each.call(inputs);
    return recorder.text();
  }

  void expect_same_with(const Inputs& inputs) {
    std::size_t number = 0;
    for (const Case& each : cases_on(GetParam().type)) EXPECT_EQ(calls(each, inputs), expected_[number++]) << each.function;
  }

  [[nodiscard]] const Inputs& dense() const { return *inputs_; }

 private:
  std::optional<Inputs> inputs_;
  std::vector<std::string> expected_;
};

TEST_P(CallLists, AreTheSameForTransposedInputs) { expect_same_with(dense().with(stored_transposed)); }

TEST_P(CallLists, AreTheSameForInputsThatRepeatThemselves) {
  Inputs inputs = dense().with(repeating);
  inputs.square = dense().square;  // one line again and again has no inverse
  expect_same_with(inputs);
}

TEST_P(CallLists, AreTheSameForInputsElsewhere) {
  for (const std::string& each : all_devices()) {
    SCOPED_TRACE(each);
    const Inputs there = dense().with([&](const Tensor& x) { return copy_to(x, each); });
    expect_same_with(there);
    const DeviceScope on(each);
    expect_same_with(there);
  }
}

TEST_P(CallLists, AreTheSameForWhatIsGivenAway) {
  const auto masked = [&](bool gives_away) {
    Recorder recorder;
    const ExecutorScope scope(recorder);
    Tensor x = dense().x + 1;
    if (gives_away) {
      (void)at(std::move(x), {dense().mask}).set(0);
    } else {
      (void)at(x, {dense().mask}).set(0);
    }
    return recorder.text();
  };
  EXPECT_EQ(masked(true), masked(false));
}

TUTTI_ON_EVERY_BACKEND(CallLists);

}  // namespace
}  // namespace tutti::conformance

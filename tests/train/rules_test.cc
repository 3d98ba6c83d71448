// No op is forgotten: each has a rule for its gradient, or its row says why it has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tutti/exec/op_table.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

std::vector<std::string> rows_that_say_nothing() {
  std::vector<std::string> out;
  for (const OpRow* row : list_ops()) {
    if (row->kind == OpKind::order) continue;  // it has no tensors
    if (row->gradient.apply == nullptr && row->gradient.none == nullptr) out.push_back(row->name);
  }
  return out;
}

TEST(GradientRules, AreThereForEveryOpOrItsRowSaysWhyNot) {
  EXPECT_THAT(rows_that_say_nothing(), testing::IsEmpty())
      << "state a rule (OpDefinition::gradient, register_gradient), or no_gradient(why)";
}

void infer_like_first(Inference& in) { in.output(in.dtype(0), in.shape(0)); }
void copy_floats(const KernelCall& call, KernelContext&) {
  for (std::int64_t i = 0; i < call.in(0).count(); ++i) call.out().as<float>()[i] = call.in(0).as<float>()[i];
}

TEST(GradientRules, ThatAreMissingAreNoticedHereAndAtTheCall) {
  const OpRow& own = register_op({.name = "OpThatSaysNothing", .infer = infer_like_first}, {.cpu = copy_floats});
  EXPECT_THAT(rows_that_say_nothing(), testing::ElementsAre("OpThatSaysNothing"));
  const auto call = [&](const Tensor& x) { return sum(call_op(own, std::vector{x})[0]); };
  try {
    (void)grad(call)(ones({2}));
    FAIL() << "it was differentiated";
  } catch (const NoGradient& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("OpThatSaysNothing has no gradient: its row states no rule"));
    EXPECT_THAT(error.what(), testing::HasSubstr("rules_test.cc"));
  }
}

TEST(GradientRules, AFunctionWithoutOneSaysSoAtTheCallWithTheReason) {
  const auto loop = [](const Tensor& x) {
    return sum(while_loop([](const std::vector<Tensor>& s) { return less(sum(s[0]), 10); },
                          [](const std::vector<Tensor>& s) { return std::vector<Tensor>{s[0] * 2}; }, {x}, {.most_iterations = 8})
                   .state[0]);
  };
  try {
    (void)grad(loop)(ones({2}));
    FAIL() << "it was differentiated";
  } catch (const NoGradient& error) {
    const std::string words = error.what();
    EXPECT_NE(words.find("while_loop has no gradient: how often its body runs"), std::string::npos) << words;
    EXPECT_NE(words.find("rules_test.cc"), std::string::npos) << words;
  }
}

}  // namespace

}  // namespace tutti

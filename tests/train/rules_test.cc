// No op is forgotten: each has a rule for its gradient, or its row says why it has none.
#include <gtest/gtest.h>

#include "tutti/exec/op_table.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

TEST(GradientRules, AreThereForEveryOpOrItsRowSaysWhyNot) {
  for (const OpRow* row : list_ops()) {
    if (row->kind == OpKind::order) continue;  // it has no tensors
    EXPECT_TRUE(row->gradient.apply != nullptr || row->gradient.none != nullptr)
        << row->name << " has neither: state a rule (OpDefinition::gradient, register_gradient), or no_gradient(why)";
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

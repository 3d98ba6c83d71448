// Which finding a wait that was seen falls under.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tutti/lint/check.h"
#include "tutti/lint/seen_wait.h"

namespace tutti::lint {
namespace {

const std::string program =
    "import torch\n"
    "x = torch.ones(3, device='cuda')\n"
    "\n"
    "if x.sum().item() > float(x[0]):\n"
    "    y = torch.tensor([1.0],\n"
    "                     device='cuda')\n"
    "print(x)\n";

std::string_view rule_at(const SeenWait& wait, const std::string& source = program) {
  const Report report = check(source);
  const Finding* const found = finding_of(source, report.findings, wait);
  return found == nullptr ? "" : rule(found->rule).name;
}

TEST(SeenWait, FallsUnderTheFindingOfItsExpression) {
  const std::string_view code = "if x.sum().item() > float(x[0]):";
  EXPECT_EQ(rule_at({4, code, "x.sum().item()", Transfer::to_host}), "item");
  EXPECT_EQ(rule_at({4, code, "float(x[0])", Transfer::to_host}), "python-scalar");
  EXPECT_EQ(rule_at({4, code, "x.sum()", Transfer::to_host}), "") << "something inside sum waited, not item";
  EXPECT_EQ(rule_at({7, "print(x)", "print(x)", Transfer::to_host}), "print");
}

TEST(SeenWait, WithoutAnExpressionFallsUnderWhatItsLineAndDirectionTell) {
  EXPECT_EQ(rule_at({7, "print(x)", "", Transfer::to_host}), "print");
  EXPECT_EQ(rule_at({7, "print(x)", "", Transfer::to_device}), "");
  EXPECT_EQ(rule_at({7, "print(x)", "", Transfer::none}), "") << "a read copies something";
  EXPECT_EQ(rule_at({5, "y = torch.tensor([1.0], device='cuda')", "", Transfer::to_device}), "create-from-host");
}

TEST(SeenWait, IsFoundWhereItsLineHasMovedAndNowhereElse) {
  EXPECT_EQ(line_of(program, {7, "print(x)", "", {}}), 7U);
  EXPECT_EQ(line_of(program, {2, "print(x)", "", {}}), 7U);
  EXPECT_EQ(line_of(program, {70, "print(x)", "", {}}), 7U);
  EXPECT_EQ(line_of(program, {7, "print(z)", "", {}}), 0U);
  EXPECT_EQ(line_of(program, {5, "y = torch.tensor([1.0], device='cuda')", "", {}}), 5U) << "kept in one line";
  EXPECT_EQ(line_of(program, {5, "y = torch.tensor([1.0],", "", {}}), 5U);
  EXPECT_EQ(line_of("", {1, "print(x)", "", {}}), 0U);
  EXPECT_EQ(line_of(program, {0, "print(x)", "", {}}), 0U);
  EXPECT_EQ(line_of(program + "print(x)\n", {9, "print(x)", "", {}}), 8U) << "the nearest";
}

TEST(SeenWait, IsReadFromItsLineAloneWhereTheFileIsGone) {
  const auto rule_of = [](const SeenWait& wait) {
    const SeenSource source(wait);
    const Finding* const found = source.finding_of(wait);
    return found == nullptr ? std::string_view() : rule(found->rule).name;
  };
  EXPECT_EQ(rule_of({30, "if loss.item() > 3:", "loss.item()", Transfer::to_host}), "item");
  EXPECT_EQ(rule_of({30, "elif not torch.isfinite(loss):", "torch.isfinite(loss)", Transfer::to_host}), "branch");
  EXPECT_EQ(rule_of({30, "x = rows.to(device)  # once", "rows.to(device)", Transfer::to_device}), "blocking-copy");
  EXPECT_EQ(rule_of({30, "found = torch.nonzero(y[0] > 0)", "torch.nonzero(y[0] > 0)", Transfer::to_host}), "nonzero");
  EXPECT_EQ(rule_of({30, "done.synchronize()", "done.synchronize()", Transfer::none}), "synchronize");
  EXPECT_EQ(rule_of({30, "while not done.query():", "done.query()", Transfer::none}), "query-loop");
  EXPECT_EQ(rule_of({30, "if done.query():", "done.query()", Transfer::none}), "");
  EXPECT_EQ(rule_of({30, "))) what (((", "what", Transfer::to_host}), "");
  const SeenWait wait{30, "elif loss.item() > 3:", "loss.item()", Transfer::to_host};
  EXPECT_EQ(SeenSource(wait).use_of(wait).use, Use::decides);
  EXPECT_EQ(SeenSource(wait).use_of(wait).line, 30U);
}

}  // namespace
}  // namespace tutti::lint

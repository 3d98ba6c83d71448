// What becomes of a value that the host has read, told from the source.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tutti/lint/seen_wait.h"

namespace tutti::lint {
namespace {

// Of "loss.item()" in this program.
ValueUse use_in(const std::string& program) {
  const std::string source = "import torch\n" + program;
  const std::size_t at = source.find("loss.item()");
  const auto line =
      static_cast<std::uint32_t>(1 + std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  return SeenSource(source).use_of({.line = line, .code = {}, .expression = "loss.item()", .transfer = Transfer::to_host});
}

Use of(const std::string& program) { return use_in(program).use; }

TEST(UseOfAValue, InAConditionDecides) {
  EXPECT_EQ(of("if loss.item() > 3:\n    stop()\n"), Use::decides);
  EXPECT_EQ(of("while not loss.item():\n    go()\n"), Use::decides);
  EXPECT_EQ(of("assert loss.item() < 3, 'no'\n"), Use::decides);
  EXPECT_EQ(of("rate = 1 if loss.item() > 3 else 2\n"), Use::decides);
  EXPECT_EQ(of("a = [b for b in c if b < loss.item()]\n"), Use::decides);
  EXPECT_EQ(of("ok = loss.item() < 3 and f()\n"), Use::decides);
  EXPECT_EQ(of("for i in range(int(loss.item())):\n    go(i)\n"), Use::decides);
}

TEST(UseOfAValue, ThatIsPrintedLoggedOrStoredIsTold) {
  EXPECT_EQ(of("print('loss', loss.item())\n"), Use::told);
  EXPECT_EQ(of("print(f'{loss.item():.3f}')\n"), Use::told);
  EXPECT_EQ(of("logger.info('%f', loss.item())\n"), Use::told);
  EXPECT_EQ(of("writer.add_scalar('loss', loss.item(), 3)\n"), Use::told);
  EXPECT_EQ(of("bar.set_postfix(loss=loss.item())\n"), Use::told);
  EXPECT_EQ(of("losses.append(loss.item())\n"), Use::told);
  EXPECT_EQ(of("meter.update(loss.item(), 32)\n"), Use::told);
  EXPECT_EQ(of("wandb.log({'loss': loss.item()})\n"), Use::told);
  EXPECT_EQ(of("total += loss.item()\n"), Use::told);
}

TEST(UseOfAValue, ThatBecomesAShapeIsASize) {
  EXPECT_EQ(of("x = torch.zeros(int(loss.item()), 3)\n"), Use::size);
  EXPECT_EQ(of("x = y[:loss.item()]\n"), Use::size);
  EXPECT_EQ(of("x = y.view(loss.item(), -1)\n"), Use::size);
}

TEST(UseOfAValue, ThatGoesIntoAnOpComputes) { EXPECT_EQ(of("y = torch.clamp(x, max=loss.item())\n"), Use::computes); }

TEST(UseOfAValue, IsFollowedThroughItsName) {
  EXPECT_EQ(use_in("def f(loss):\n    value = loss.item()\n    g()\n    if value > 3:\n        stop()\n    print(value)\n").line,
            5U);
  EXPECT_EQ(of("def f(loss):\n    value = loss.item()\n    scaled = value * 2\n    print(scaled)\n"), Use::told);
  EXPECT_EQ(of("def f(loss):\n    value = loss.item()\n    return torch.zeros(value)\n"), Use::size);
  EXPECT_EQ(of("if (value := loss.item()) > 3:\n    print(value)\n"), Use::decides);
}

TEST(UseOfAValue, IsWhatItsNameIsUsedForUntilThatHasAnother) {
  EXPECT_EQ(of("value = loss.item()\nprint(value)\nvalue = 3\nif value:\n    stop()\n"), Use::told);
  EXPECT_EQ(of("value = loss.item()\nif hot:\n    value = 3\nif value:\n    stop()\n"), Use::decides);
  EXPECT_EQ(of("value = 0\nfor x in y:\n    if value > 3:\n        break\n    value = loss.item()\n"), Use::decides);
  EXPECT_EQ(of("for x in y:\n    value = 0\n    if value > 3:\n        break\n    value = loss.item()\n    print(value)\n"),
            Use::told);
}

TEST(UseOfAValue, ThatLeavesTheFunctionOrIsGivenToAnotherIsUnknown) {
  EXPECT_EQ(of("def f(loss):\n    return loss.item()\n"), Use::unknown);
  EXPECT_EQ(of("self.value = loss.item()\n"), Use::unknown);
  EXPECT_EQ(of("g(loss.item())\n"), Use::unknown);
  EXPECT_EQ(of("value = loss.item()\nprint(value)\ng(value)\n"), Use::unknown);
  EXPECT_EQ(of("def f(loss):\n    value = loss.item()\n\ndef g(value):\n    if value:\n        stop()\n"), Use::unknown);
}

TEST(UseOfAValue, EndsAlsoWhereNamesGoRound) {
  std::string program = "a0 = loss.item()\nfor _ in y:\n";
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 3; ++j) program += "    a" + std::to_string((i + j + 1) % 40) + " = a" + std::to_string(i) + " + 1\n";
  }
  EXPECT_EQ(of(program), Use::unknown);
}

}  // namespace
}  // namespace tutti::lint

// What explain() tells of a captured function, as text and as a page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "conformance/backend.h"
#include "graph/samples.h"

namespace tutti::conformance {
namespace {

using testing::HasSubstr;
using testing::Not;

class Explained : public OnBackend {};

std::size_t count_of(const std::string& what, const std::string& in) {
  std::size_t out = 0;
  for (std::size_t at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++out;
  return out;
}

// TUTTI_TEST_PAGE: a file for the page, to look at it.
TEST_P(Explained, AsAPageItDrawsEveryKernelEveryPassAndEveryValue) {
  const Variable w(some(1, {256, 256}));
  const Stream side(device(0));
  const auto step = capture([&](const Tensor& x) {
    Tensor other;
    {
      const StreamScope on(side);
      other = matmul(x, x);
    }
    const Tensor y = gelu(matmul(x, w) * 0.5 + 1);
    w.assign_add(y * 0.001);
    return std::vector{matmul(y, other), sum(softmax(y))};
  });
  (void)step(some(2, {256, 256}));
  (void)step(some(3, {256, 256}));
  const std::string text = explain(step);
  const std::string page = explain_html(step);
  EXPECT_THAT(page, HasSubstr("tests/graph/explain_test.cc"));
  EXPECT_THAT(page, HasSubstr("1 replay"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_EQ(count_of("class=\"box run\"", page) + count_of("class=\"box fused\"", page), count_of(" at tests/graph", text) - 1);
  if (GetParam().backend != "cuda") {
    EXPECT_EQ(count_of("class=\"pass\"", page), count_of("    fused ", text));
    EXPECT_GE(count_of("class=\"pass\"", page), 1U);
  }
  EXPECT_GE(count_of("class=\"edge\"", page), 1U);
  EXPECT_GE(count_of("class=\"box value\"", page), 3U);
  if (const char* const file = std::getenv("TUTTI_TEST_PAGE")) std::ofstream(file) << page;
}

TEST_P(Explained, ValuesOfAChainOfProductsTakeEachOthersPlaces) {
  if (GetParam().backend == "cuda") GTEST_SKIP() << "there only those of more than 64 MiB do";
  const auto step = capture([](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 6; ++i) y = matmul(y, x);
    return y;
  });
  (void)step(some(1, {64, 64}));
  // Five of 16 KiB are not given back, and no more than two are needed at a time.
  EXPECT_THAT(explain(step), HasSubstr("memory: 32 KiB planned, where each value in memory of its own would take 80 KiB"));
  Tensor wanted = some(2, {64, 64});
  for (int i = 0; i < 6; ++i) wanted = matmul(wanted, some(2, {64, 64}));
  EXPECT_TRUE(is_same(step(some(2, {64, 64})), wanted));
}

TEST_P(Explained, NamesCannotEndAnElementOfThePage) {
  register_op({.name = "<script>", .function = "odd", .infer = [](Inference& in) { in.output(DType::f32, {1}); }},
              {.cpu = [](const KernelCall&, KernelContext&) {}, .sim = [](const KernelCall&, KernelContext&) {}});
  if (GetParam().backend == "cuda") GTEST_SKIP() << "it has no kernel there";
  const auto step = capture([] { return call_op("<script>", {}); });
  (void)step();
  EXPECT_THAT(explain_html(step), HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(explain_html(step), Not(HasSubstr("<script")));
}

TUTTI_ON_EVERY_BACKEND(Explained);

}  // namespace
}  // namespace tutti::conformance

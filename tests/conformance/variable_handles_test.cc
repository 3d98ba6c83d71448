// A variable is a handle to a cell: copies are the same variable, it stands wherever a tensor does, and a cell can be bound to
// its memory.
#include <gtest/gtest.h>

#include <sstream>
#include <thread>
#include <vector>

#include "conformance/backend.h"
#include "tutti/ops/variable_cell.h"

namespace tutti::conformance {
namespace {

class VariableHandles : public OnBackend {};

TEST_P(VariableHandles, OfOneCellSeeEachOthersAssignments) {
  const Variable weight(ones({2, 2}));
  const Variable in_optimizer = weight;  // NOLINT(performance-unnecessary-copy-initialization)
  in_optimizer.assign_add(2);
  EXPECT_EQ(read<float>(weight.value()), (std::vector<float>{3, 3, 3, 3}));
  const Variable other(ones({2, 2}));
  Variable moved = other;
  moved = weight;
  moved.assign(5);
  EXPECT_EQ(read<float>(weight.value()), (std::vector<float>{5, 5, 5, 5}));
  EXPECT_EQ(read<float>(other.value()), (std::vector<float>{1, 1, 1, 1}));
}

TEST_P(VariableHandles, AreTakenWhereverATensorIs) {
  const Variable w(full({2, 2}, 2.0));
  const Tensor x = ones({2, 2});
  EXPECT_EQ(read<float>(matmul(x, w)), (std::vector<float>{4, 4, 4, 4}));
  EXPECT_EQ(read<float>(w * x + w), (std::vector<float>{4, 4, 4, 4}));
  EXPECT_EQ(item<float>(sum(w)), 8);
  EXPECT_EQ(read<float>(w), (std::vector<float>{2, 2, 2, 2}));
  EXPECT_EQ(read<float>(concat({w, x}, 0)), (std::vector<float>{2, 2, 2, 2, 1, 1, 1, 1}));
  w.assign(w * 3);
  EXPECT_EQ(read<float>(transpose(w)), (std::vector<float>{6, 6, 6, 6}));
  const Variable places(constant({1, 0}));
  EXPECT_EQ(read<float>(index(constant({{1.F, 2.F}, {3.F, 4.F}}), {places})), (std::vector<float>{3, 4, 1, 2}));
  EXPECT_EQ(read<float>(at(w, {places, 0}).set(0)), (std::vector<float>{0, 6, 0, 6}));
  EXPECT_EQ(read<float>(einsum("ij,jk->ik", x, w)), (std::vector<float>{12, 12, 12, 12}));
  std::ostringstream shown;
  shown << w;
  EXPECT_EQ(shown.str(), "tutti.Tensor(\n[[6. 6.]\n [6. 6.]], shape=(2, 2), dtype=float32)");
  const Site line;
  EXPECT_THROW((void)matmul(w, ones({3})), ShapeError) << line.to_string();
}

TEST_P(VariableHandles, TakenForATensorLeaveNoSnapshotBehind) {
  const Variable w(ones({64}));
  w.value().sync();
  const std::byte* before = w.value().impl().address();
  w.assign_add(w * 2);
  EXPECT_EQ(w.value().impl().address(), before) << "it was written in place";
}

TEST_P(VariableHandles, OfABoundCellKeepItsMemoryAndGiveOneCopyPerVersion) {
  const Variable w(ones({4}));
  const Tensor before = w.value();  // alive: an assignment would go elsewhere
  w.cell()->bind(Site{});
  const std::byte* memory = w.cell()->storage().impl().address();
  EXPECT_NE(memory, before.impl().address());
  w.assign(2);
  const Tensor second = w.value();
  EXPECT_EQ(second.impl().address(), w.value().impl().address()) << "one copy for the version";
  EXPECT_NE(second.impl().address(), memory);
  w.assign_add(second);
  w.assign_add(1.5);
  const Tensor third = w.value();
  EXPECT_EQ(w.cell()->storage().impl().address(), memory);
  EXPECT_EQ(read<float>(before), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(read<float>(second), (std::vector<float>{2, 2, 2, 2}));
  EXPECT_EQ(read<float>(third), (std::vector<float>{5.5F, 5.5F, 5.5F, 5.5F}));
}

TEST_P(VariableHandles, OutliveTheOneTheyWereCopiedFrom) {
  std::vector<Variable> parameters;
  {
    const Variable first(ones({2}));
    parameters.assign(3, first);
  }
  parameters[1].assign(7);
  EXPECT_EQ(read<float>(parameters[2]), (std::vector<float>{7, 7}));
}

TUTTI_ON_EVERY_BACKEND(VariableHandles);

}  // namespace
}  // namespace tutti::conformance

// The op table: names, kernels that come early or late, and the row that an op is.
#include "tutti/exec/op_table.h"

#include <gtest/gtest.h>

#include "tutti/tutti.h"

namespace tutti {
namespace {

void infer_as_given(Inference& in) { in.output(in.dtype(0), in.shape(0)); }
void fill_with_seven(const KernelCall& call, KernelContext&) {
  for (std::int64_t i = 0; i < call.out().count(); ++i) call.out().as<float>()[i] = 7;
}

TEST(OpTable, GivesBackTheRowThatWasRegistered) {
  const OpRow& row =
      register_op({.name = "Mine", .infer = infer_as_given, .access = {Access::consume, Access::read}}, {.cpu = fill_with_seven});
  EXPECT_EQ(&find_op("Mine"), &row);
  EXPECT_EQ(row.name, "Mine");
  EXPECT_EQ(row.mask_for(DType::f32), mask_of(BackendKind::cpu));
  EXPECT_EQ(row.access_of(0), Access::consume);
  EXPECT_EQ(row.access_of(1), Access::read);
  EXPECT_EQ(row.access_of(9), Access::read) << "the last one stands for all further inputs";
}

TEST(OpTable, ReadsWhereNothingIsSaidAboutAccess) {
  EXPECT_EQ(register_op({.name = "Silent", .infer = infer_as_given}).access_of(3), Access::read);
}

TEST(OpTable, TakesKernelsBeforeAndAfterTheRow) {
  register_kernel("Early", BackendKind::cpu, fill_with_seven);
  EXPECT_THROW(find_op("Early"), UnknownOp) << "kernels alone are no op";
  const OpRow& row = register_op({.name = "Early", .infer = infer_as_given});
  EXPECT_EQ(row.mask_for(DType::f32), mask_of(BackendKind::cpu));
  register_kernel("Early", BackendKind::sim, fill_with_seven);
  EXPECT_EQ(row.mask_for(DType::f32), mask_of(BackendKind::cpu) | mask_of(BackendKind::sim));
  EXPECT_EQ(read<float>(call_op("Early", {zeros({2})})[0]), (std::vector{7.F, 7.F}));
}

TEST(OpTable, SuggestsOnlyOpsThatExist) {
  register_kernel("Exq", BackendKind::cpu, fill_with_seven);
  try {
    find_op("Exqp");
    FAIL();
  } catch (const UnknownOp& e) {
    EXPECT_EQ(e.message().find("Exq'?"), std::string::npos) << e.what();
  }
  for (const auto& [asked, meant] : {std::pair{"matmul", "MatMul"}, {"AddV3", "AddV2"}, {"Relu6", "Relu"}}) {
    try {
      find_op(asked);
      ADD_FAILURE();
    } catch (const UnknownOp& e) {
      EXPECT_EQ(e.message(), std::string("no op is named '") + asked + "'; did you mean '" + meant + "'?");
      EXPECT_STREQ(e.site().file(), __FILE__);
    }
  }
}

TEST(OpTable, EveryBuiltInOpRunsOnCpuAndSimulatedGpu) {
  for (const char* name : {"_EagerConst", "_Copy", "Fill", "RandomUniform", "Cast", "AddV2", "Mul", "Exp", "Relu", "SelectV2",
                           "Sum", "MatMul", "AddN", "NonZero", "CountNonzero", "GatherV2"}) {
    const KernelMask both = mask_of(BackendKind::cpu) | mask_of(BackendKind::sim);
    EXPECT_EQ(find_op(name).mask_for(DType::f32) & both, both) << name;
  }
}

}  // namespace
}  // namespace tutti

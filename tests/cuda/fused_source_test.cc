// Fused programs as source: what every fusible op and random trees of them become compiles, where NVRTC is found; no GPU is
// needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tutti/exec/scalar_ops.h"
#include "tutti/kernels/cuda/fused_source.h"
#include "tutti/kernels/cuda/nvrtc.h"

namespace tutti::kernels::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int architecture = 90;
constexpr DType dtypes[] = {DType::boolean, DType::i32, DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64};

Operand operand(DType dtype, std::vector<Axis> axes, std::uintptr_t address = 4096) {
  Operand out;
  out.data = reinterpret_cast<std::byte*>(address);
  out.dtype = dtype;
  out.rank = static_cast<std::uint8_t>(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) out.axes[i] = axes[i];
  return out;
}
Operand dense(DType dtype) { return operand(dtype, {{6, 8}, {8, 1}}); }

Operand number(DType dtype) {
  Operand out;
  out.dtype = dtype;
  out.is_immediate = true;
  return out;
}

// What the compiler says against it; empty: nothing.
std::string complaint(const FusedProgram& program) {
  const FusedSource source = fused_source(program);
  std::string log;
  if (compile(source.text, architecture, log, Site{})) return {};
  return log + "\n" + source.text;
}

std::vector<std::pair<std::string, std::size_t>> all_ops() {
  std::vector<std::pair<std::string, std::size_t>> out{{"Cast", 1}, {"SelectV2", 3}};
  const auto add = [&]<int inputs, class... F>(ScalarOps<inputs, F...>) {
    (out.emplace_back(F::op.name, static_cast<std::size_t>(inputs)), ...);
  };
  using namespace scalar;
  add(Arithmetic{}), add(Extremes{}), add(Limits{}), add(Signs{}), add(Roots{}), add(SignsOfOthers{}), add(Roundings{});
  add(Equalities{}), add(Orders{}), add(Tests{}), add(Bits{}), add(Shifts{}), add(Complements{}), add(Divisions{});
  add(Exponentials{}), add(Logarithms{}), add(Distances{}), add(Hyperbolics{}), add(InverseHyperbolics{}), add(Circulars{});
  add(InverseCirculars{}), add(Angles{}), add(Rectifiers{}), add(Activations{}), add(ActivationGradients{});
  return out;
}

// The ways an op may be a step: its operands, last the output.
std::vector<std::vector<Operand>> forms_of(const std::string& op, std::size_t inputs) {
  std::vector<std::vector<Operand>> out;
  for (const DType in : dtypes) {
    for (const DType given : dtypes) {
      std::vector<Operand> operands(inputs, dense(in));
      if (op == "SelectV2") operands[0] = dense(DType::boolean);
      operands.push_back(dense(given));
      if (is_fusible(op, operands)) out.push_back(operands);
    }
  }
  return out;
}

class FusedSources : public testing::Test {
 protected:
  void SetUp() override {
    if (nvrtc_version(Site{}).empty()) GTEST_SKIP() << "no NVRTC here";
  }
};

TEST_F(FusedSources, OfEveryFusibleOpAndDtypeCompile) {
  // Many in one kernel: the compiler takes longer to start than for a step.
  FusedProgram program;
  std::size_t forms = 0;
  const auto flush = [&] {
    if (!program.steps.empty()) {
      EXPECT_EQ(complaint(program), "");
    }
    program = {};
  };
  for (const auto& [op, inputs] : all_ops()) {
    const std::vector<std::vector<Operand>> all = forms_of(op, inputs);
    EXPECT_FALSE(all.empty()) << op;
    for (const std::vector<Operand>& operands : all) {
      ++forms;
      FusedProgram::Step step{.op = op, .from = {}, .dtype = operands.back().dtype};
      for (std::size_t i = 0; i < inputs; ++i) {
        step.from.push_back(program.inputs.size());
        program.inputs.push_back(operands[i]);
      }
      program.stores.push_back({program.steps.size(), operands.back()});
      program.steps.push_back(step);
      if (program.steps.size() < 40) continue;
      for (FusedProgram::Store& store : program.stores) store.value += program.inputs.size();
      flush();
    }
  }
  for (FusedProgram::Store& store : program.stores) store.value += program.inputs.size();
  flush();
  EXPECT_GT(forms, 250U);
}

TEST_F(FusedSources, OfRandomTreesCompile) {
  const auto asked = static_cast<std::uint64_t>(GTEST_FLAG_GET(random_seed));
  const std::uint64_t first = asked != 0 ? asked : 1 + std::random_device{}() % 99'999;
  for (std::uint64_t seed = first; seed < first + 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::vector<std::vector<Axis>> layouts{{{6, 8}, {8, 1}}, {{6, 1}, {8, 6}}, {{6, 0}, {8, 1}},
                                                 {{6, 1}, {8, 0}}, {{6, 0}, {8, 0}}, {{6, 16}, {8, -2}}};
    FusedProgram program;
    std::vector<DType> values;
    for (std::uint64_t i = 0; i < 5; ++i) {
      const DType dtype = dtypes[random() % std::size(dtypes)];
      program.inputs.push_back(i == 4 ? number(dtype)
                                      : operand(dtype, layouts[random() % layouts.size()], 4096 + 8 * (random() % 3)));
      values.push_back(dtype);
    }
    const auto ops = all_ops();
    while (program.steps.size() < 20) {
      const auto& [op, inputs] = ops[random() % ops.size()];
      FusedProgram::Step step{.op = op, .from = {}, .dtype = dtypes[random() % std::size(dtypes)]};
      std::vector<Operand> operands;
      for (std::size_t i = 0; i < inputs; ++i) {
        step.from.push_back(random() % values.size());
        operands.push_back(dense(values[step.from.back()]));
      }
      operands.push_back(dense(step.dtype));
      if (!is_fusible(op, operands)) continue;
      program.steps.push_back(step);
      values.push_back(step.dtype);
    }
    for (const std::size_t value : {values.size() - 1, values.size() - 7})
      program.stores.push_back({value, operand(values[value], layouts[random() % 2])});
    EXPECT_EQ(complaint(program), "");
  }
}

TEST_F(FusedSources, ThatEndWithAReductionOfRowsCompile) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const std::int64_t row : {std::int64_t{1}, std::int64_t{7}, std::int64_t{128}, std::int64_t{500}}) {
      for (const char* const op : {"Sum", "Mean", "Max", "Min"}) {
        const Operand whole = operand(dtype, {{6, row}, {row, 1}});
        FusedProgram program;
        program.inputs = {whole, operand(dtype, {{6, 1}, {row, 0}})};
        program.steps = {{"Mul", {0, 1}, dtype}};
        if (row == 7) program.stores = {{2, whole}};
        program.closing = {op, 2, row, whole, operand(dtype, {{6, 1}})};
        EXPECT_EQ(complaint(program), "") << op << " of " << row;
      }
    }
  }
}

TEST_F(FusedSources, ThatAreWrongAreRefusedWithTheCompilersWords) {
  std::string log;
  EXPECT_FALSE(compile("extern \"C\" __global__ void fused() { what(); }", architecture, log, Site{}));
  EXPECT_THAT(log, HasSubstr("what"));
}

TEST(FusedSource, MovesDenseOperandsInPacksAndTheRestElementByElement) {
  FusedProgram program;
  program.inputs = {dense(DType::f32), operand(DType::f32, {{6, 1}, {8, 6}}), operand(DType::f32, {{6, 1}, {8, 0}})};
  program.steps = {{"Mul", {0, 1}, DType::f32}, {"AddV2", {3, 2}, DType::f32}};
  program.stores = {{4, dense(DType::f32)}};
  const FusedSource source = fused_source(program);
  EXPECT_EQ(source.width, 4);
  EXPECT_EQ(source.count, 48);
  EXPECT_EQ(source.alignment, (std::vector<std::size_t>{16, 1, 1, 16}));
  EXPECT_THAT(source.text, HasSubstr("step<Multiply, float, false>"));
  EXPECT_THAT(source.text, Not(HasSubstr("at0(first + k)")));
  EXPECT_THAT(source.text, HasSubstr("at1(first + k)"));
}

TEST(FusedSource, GivesARowToAsManyThreadsAsTheKernelThatRunsAlone) {
  const auto of_row = [](std::int64_t row) {
    const Operand whole = operand(DType::f32, {{600, row}, {row, 1}});
    FusedProgram program;
    program.inputs = {whole};
    program.steps = {{"Square", {0}, DType::f32}};
    program.closing = {"Sum", 1, row, whole, operand(DType::f32, {{600, 1}})};
    return fused_source(program);
  };
  EXPECT_THAT(of_row(10).text, HasSubstr("constexpr int lanes = 2;"));
  EXPECT_EQ(of_row(10).width, 4);
  EXPECT_EQ(of_row(10).blocks, 5);
  EXPECT_THAT(of_row(1024).text, HasSubstr("constexpr int lanes = 32;"));
  EXPECT_EQ(of_row(1024).blocks, 75);
}

TEST(FusedSource, TakesNoStepThatMayFailOrThatItDoesNotKnow) {
  const std::vector<Operand> of_integers(3, dense(DType::i32));
  EXPECT_FALSE(is_fusible("FloorDiv", of_integers));
  EXPECT_TRUE(is_fusible("AddV2", of_integers));
  EXPECT_TRUE(is_fusible("FloorDiv", std::vector<Operand>(3, dense(DType::f32))));
  EXPECT_FALSE(is_fusible("MatMul", std::vector<Operand>(3, dense(DType::f32))));
  EXPECT_FALSE(is_fusible("AddV2", std::vector<Operand>(3, dense(DType::u8))));
}

}  // namespace
}  // namespace tutti::kernels::cuda

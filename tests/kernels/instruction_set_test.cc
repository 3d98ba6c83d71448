#include "tutti/kernels/cpu/instruction_set.h"

#include <string>
#include <string_view>

#include "kernels/operands.h"
#include "kernels/random_checks.h"

namespace tutti::testing {

// Each in a process of its own: the rows are chosen once.
class InstructionSet : public ::testing::TestWithParam<const char*> {};

TEST_P(InstructionSet, GivesTheSameResultsAsThePlainLoops) {
  if (!kernels::use_instruction_set(GetParam())) GTEST_SKIP() << "this machine has no " << GetParam();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  if (std::string_view(kernels::instruction_set()) != GetParam()) GTEST_SKIP() << "under this sanitizer it is left out";
#endif
  EXPECT_EQ(kernels::instruction_set(), GetParam());
  for (std::uint64_t seed = 1000; seed < 1015 && !HasFailure(); ++seed) {
    check_elementwise(seed);
    check_sums(seed);
    check_reductions(seed);
    check_products(seed);
    check_convolutions(seed);
    check_indexing(seed);
    check_comparisons(seed);
  }
  check_casts(1000);
  check_exp_sweep();
  check_function_accuracy();
  check_random_numbers();
}

INSTANTIATE_TEST_SUITE_P(Every, InstructionSet, ::testing::Values("AVX3", "AVX2", "SCALAR"),
                         [](const auto& set) { return std::string(set.param); });

}  // namespace tutti::testing

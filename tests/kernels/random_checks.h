// The random checks, each defined beside the tests of its kernels; also run for every instruction set.
#pragma once

#include <cstdint>

namespace tutti::testing {

void check_elementwise(std::uint64_t seed);
void check_casts(std::uint64_t seed);
void check_sums(std::uint64_t seed);
void check_reductions(std::uint64_t seed);
void check_products(std::uint64_t seed);
void check_convolutions(std::uint64_t seed);
void check_indexing(std::uint64_t seed);
void check_exp_sweep();
void check_function_accuracy();
void check_comparisons(std::uint64_t seed);
void check_random_numbers();

}  // namespace tutti::testing

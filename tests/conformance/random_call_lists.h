// The parts of the list of random calls, by what the functions do.
#pragma once

#include <vector>

#include "conformance/random_calls.h"

namespace tutti::conformance {

std::vector<RandomCall> elementwise_calls();
std::vector<RandomCall> reduction_calls();
std::vector<RandomCall> neural_calls();
std::vector<RandomCall> matrix_calls();
std::vector<RandomCall> movement_calls();
std::vector<RandomCall> sharded_calls();

}  // namespace tutti::conformance

// Control flow that is decided on the device: the host never waits for the predicate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tutti/tensor/tensor.h"

namespace tutti {

using Branch = std::function<std::vector<Tensor>()>;

// Both branches are enqueued, and a bool of one element, wherever it is, picks between what they give; these must agree in
// number, shapes and dtypes. For branches that cost little, or whose predicate would cost a wait: the other one runs too, so
// neither may change a Variable, and a failure in either is a failure of the result.
std::vector<Tensor> cond(const Tensor& predicate, const Branch& then_branch, const Branch& else_branch, Site site = {});
// The same for one value: cond(norm > 1, [&] { return x / norm; }, [&] { return x; })
Tensor cond(const Tensor& predicate, const std::function<Tensor()>& then_branch, const std::function<Tensor()>& else_branch,
            Site site = {});

using LoopCondition = std::function<Tensor(const std::vector<Tensor>&)>;
using LoopBody = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
struct WhileOptions {
  std::optional<std::int64_t> most_iterations = {};  // none: as many as it takes
};
struct WhileResult {
  std::vector<Tensor> state;
  Tensor iterations;   // int64: how many took effect
  Tensor is_finished;  // bool: the condition does not hold any more
};
// While the condition (a bool of one element) holds, the state becomes what the body makes of it. The host enqueues iterations
// without waiting to learn whether they are needed; those past the end leave the state as it is, and the host stops as soon as
// it sees, without blocking, that the loop is over. So the body must be pure, and defined for the last state too.
WhileResult while_loop(const LoopCondition& condition, const LoopBody& body, const std::vector<Tensor>& state,
                       const WhileOptions& options = {}, Site site = {});

}  // namespace tutti

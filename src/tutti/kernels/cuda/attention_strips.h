// Attention by products over a strip of queries at a time: for whatever dtype, sizes and layout has no faster way.
#pragma once

#include "tutti/exec/attention_attributes.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// Of query, key and value. Bytes to work in; their data is not looked at.
std::int64_t attention_strip_bytes(const AttentionAttributes& attributes, const Operand& query, const Operand& key,
                                   const Operand& value, bool is_gradient);
// Of the call's operands, in its scratch memory.
void attend_in_strips(const KernelCall& call, const AttentionAttributes& attributes, Queue& queue);
void attend_in_strips_back(const KernelCall& call, const AttentionAttributes& attributes, Queue& queue);

}  // namespace tutti::kernels::cuda

// layer_norm by dtype: device code for halves is compiled in a file of its own.
#pragma once

#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

// Of one part of a line.
struct Moments {
  double mean;
  double squares;  // of the distances from it, added up
  double count;
};

void layer_norm_halves(const KernelCall& call, Queue& queue, const LayerNormAttributes& attributes);

}  // namespace tutti::kernels::cuda

// What a window sees at every place, as a matrix: unfolded from images, and folded back into them. Channels come first, all is
// dense: columns are (planes, kernel height, kernel width, places).
#pragma once

#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cuda/launch.h"

namespace tutti::kernels::cuda {

void unfold(const std::byte* images, std::byte* columns, const WindowAttributes& window, std::int64_t planes, DType dtype,
            Queue& queue, const KernelCall& call);
// What the windows saw is added up. Floating dtypes.
void fold(const std::byte* columns, std::byte* images, const WindowAttributes& window, std::int64_t planes, DType dtype,
          Queue& queue, const KernelCall& call);
// out = the sum of `parts` lines of `size` elements, or that and what out has.
void add_parts(const std::byte* parts, std::int64_t count, std::byte* out, std::int64_t size, bool is_first, DType dtype,
               Queue& queue, const KernelCall& call);

}  // namespace tutti::kernels::cuda

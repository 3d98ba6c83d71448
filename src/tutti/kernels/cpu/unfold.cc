#include <algorithm>
#include <cstring>

#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cpu/lines.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// One row of the columns: what element (ky, kx) of the window sees of one plane, at every place.
template <class U>
void unfold_row(const U* plane, const WindowAttributes& window, std::int64_t ky, std::int64_t kx, U* to) {
  const WindowAxis& y = window.y;
  const WindowAxis& x = window.x;
  const std::int64_t top = y.first_inside(ky);
  const std::int64_t bottom = std::max(top, y.last_inside(ky));
  const std::int64_t left = x.first_inside(kx);
  const std::int64_t right = std::max(left, x.last_inside(kx));
  std::fill(to, to + top * x.outputs, U{0});
  for (std::int64_t oy = top; oy < bottom; ++oy) {
    const U* from = plane + (y.start(oy) + ky * y.dilation) * x.size + kx * x.dilation - x.padding;
    U* line = to + oy * x.outputs;
    std::fill(line, line + left, U{0});
    if (x.stride == 1) {
      if (right > left) std::memcpy(line + left, from + left, static_cast<std::size_t>(right - left) * sizeof(U));
    } else {
      for (std::int64_t ox = left; ox < right; ++ox) line[ox] = from[ox * x.stride];
    }
    std::fill(line + right, line + x.outputs, U{0});
  }
  std::fill(to + bottom * x.outputs, to + y.outputs * x.outputs, U{0});
}

template <class U>
void unfold_as(const KernelCall& call, KernelContext& context) {
  const auto window = call.attributes->as<WindowAttributes>();
  const Operand& in = call.in(0);
  const std::int64_t kernel = window.y.kernel * window.x.kernel;
  const std::int64_t plane = window.y.size * window.x.size;
  const std::int64_t places = window.y.outputs * window.x.outputs;
  const std::int64_t rows = in.axes[0].size * in.axes[1].size * kernel;
  for_each_lines(context.parallel, rows, rows * places, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row % kernel;
      unfold_row(in.as<U>() + row / kernel * plane, window, at / window.x.kernel, at % window.x.kernel,
                 call.out().as<U>() + row * places);
    }
  });
}

}  // namespace

static void unfold(const KernelCall& call, KernelContext& context) {
  visit_size(size_of(call.in(0).dtype), [&]<class U>(U) { unfold_as<U>(call, context); });
}

[[maybe_unused]] static const bool unfold_is_registered = register_host_kernel("Unfold", unfold);

}  // namespace tutti::kernels

#include "tutti/kernels/cpu/pool_rows.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cpu/lines.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// What a window holds before anything was seen.
template <class T, bool is_max>
constexpr T nothing() {
  if constexpr (!is_max) {
    return 0;
  } else if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::min();
  } else {
    return -std::numeric_limits<T>::infinity();
  }
}

// By how many elements the sum of one window is divided along an axis.
std::int64_t elements_along(const WindowAxis& axis, std::int64_t output, bool count_include_pad) {
  const std::int64_t start = axis.start(output);
  const std::int64_t end = std::min(start + axis.kernel, axis.size + axis.padding);
  return count_include_pad ? end - start : std::min(end, axis.size) - std::max<std::int64_t>(start, 0);
}

// W: worked on in. Other dtypes are widened a line at a time.
template <class W, bool is_max>
class Pool {
 public:
  explicit Pool(const KernelCall& call)
      : window_(call.attributes->as<WindowAttributes>()), from_(call.in(0)), to_(call.out()), in_(call.in(0)), out_(call.out()) {}

  void run(Parallel& parallel) const {
    const std::int64_t lines = out_.axes[0].size * out_.axes[1].size * window_.y.outputs;
    const std::int64_t work = lines * window_.x.outputs * window_.y.kernel * window_.x.kernel;
    for_each_lines(parallel, lines, work / 2, [&](std::int64_t begin, std::int64_t end) {
      std::unique_ptr<W[]> image_line;
      std::unique_ptr<W[]> out_line;
      if (from_.converts()) {
        image_line = std::make_unique_for_overwrite<W[]>(static_cast<std::size_t>(window_.x.size));
        out_line = std::make_unique_for_overwrite<W[]>(static_cast<std::size_t>(window_.x.outputs));
      }
      for (std::int64_t line = begin; line < end; ++line) one(line, image_line.get(), out_line.get());
    });
  }

 private:
  void one(std::int64_t line, W* image_line, W* out_line) const {
    const WindowAxis& y = window_.y;
    const WindowAxis& x = window_.x;
    const std::int64_t oy = line % y.outputs;
    const std::int64_t plane = line / y.outputs * y.size * x.size;
    const std::int64_t at = line * x.outputs;
    W* out = out_line != nullptr ? out_line : out_.as<W>() + at;
    std::fill(out, out + x.outputs, nothing<W, is_max>());
    const auto combine = is_max ? pool_rows<W>().max : pool_rows<W>().add;
    for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
      const std::int64_t row = y.start(oy) + ky * y.dilation;
      if (row < 0 || row >= y.size) continue;
      const W* image = image_line;
      if (image_line != nullptr) {
        from_.read_into(plane + row * x.size, x.size, image_line);
      } else {
        image = in_.as<W>() + plane + row * x.size;
      }
      for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
        const std::int64_t left = x.first_inside(kx);
        const std::int64_t right = x.last_inside(kx);
        if (left < right) combine(image + x.start(left) + kx * x.dilation, x.stride, out + left, right - left);
      }
    }
    if constexpr (!is_max) divide(oy, out);
    to_.write(at, out, static_cast<std::size_t>(x.outputs));
  }

  // A window that saw nothing stays 0.
  void divide(std::int64_t oy, W* out) const {
    const WindowAxis& x = window_.x;
    const std::int64_t rows = elements_along(window_.y, oy, window_.count_include_pad);
    for (std::int64_t ox = 0; ox < x.outputs; ++ox) {
      const std::int64_t count = rows * elements_along(x, ox, window_.count_include_pad);
      if (count > 0) out[ox] /= static_cast<W>(count);
    }
  }

  WindowAttributes window_;
  LineSource<W> from_;
  LineTarget<W> to_;
  const Operand& in_;
  const Operand& out_;
};

}  // namespace

static void max_pool(const KernelCall& call, KernelContext& context) {
  visit_dtype<working_dtypes>(working_dtype(call.in(0).dtype), [&]<class W>(W) { Pool<W, true>(call).run(context.parallel); });
}

static void avg_pool(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats>(working_dtype(call.in(0).dtype), [&]<class W>(W) { Pool<W, false>(call).run(context.parallel); });
}

[[maybe_unused]] static const bool pool_is_registered =
    register_host_kernel("MaxPool", max_pool, numeric_dtypes) && register_host_kernel("AvgPool", avg_pool, floating_dtypes);

}  // namespace tutti::kernels

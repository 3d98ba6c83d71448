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

// W: worked on in. Other dtypes are widened a line at a time.
template <class W, bool is_max>
class Pool {
 public:
  explicit Pool(const KernelCall& call)
      : window_(call.attributes->as<WindowAttributes>()), from_(call.in(0)), to_(call.out()), in_(call.in(0)), out_(call.out()) {}

  void run(Parallel& parallel) const {
    const std::int64_t channels = out_.axes[ImageAxes(window_.channels_last).channels].size;
    const std::int64_t lines = out_.axes[0].size * window_.y.outputs * (window_.channels_last ? 1 : channels);
    const std::int64_t pixel = window_.channels_last ? channels : 1;
    const std::int64_t work = out_.count() * window_.y.kernel * window_.x.kernel;
    for_each_lines(parallel, lines, work / 2, [&](std::int64_t begin, std::int64_t end) {
      std::unique_ptr<W[]> image_line;
      std::unique_ptr<W[]> out_line;
      if (from_.converts()) {
        image_line = std::make_unique_for_overwrite<W[]>(static_cast<std::size_t>(window_.x.size * pixel));
        out_line = std::make_unique_for_overwrite<W[]>(static_cast<std::size_t>(window_.x.outputs * pixel));
      }
      for (std::int64_t line = begin; line < end; ++line) one(line, pixel, image_line.get(), out_line.get());
    });
  }

 private:
  // `pixel` elements are contiguous: the channels, where they come last.
  void one(std::int64_t line, std::int64_t pixel, W* image_line, W* out_line) const {
    const WindowAxis& y = window_.y;
    const WindowAxis& x = window_.x;
    const std::int64_t oy = line % y.outputs;
    const std::int64_t plane = line / y.outputs * y.size * x.size;
    const std::int64_t at = line * x.outputs * pixel;
    W* out = out_line != nullptr ? out_line : out_.as<W>() + at;
    std::fill(out, out + x.outputs * pixel, nothing<W, is_max>());
    const auto combine = is_max ? pool_rows<W>().max : pool_rows<W>().add;
    for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
      const std::int64_t row = y.start(oy) + ky * y.dilation;
      if (row < 0 || row >= y.size) continue;
      const W* image = image_line;
      if (image_line != nullptr) {
        from_.read_into((plane + row * x.size) * pixel, x.size * pixel, image_line);
      } else {
        image = in_.as<W>() + (plane + row * x.size) * pixel;
      }
      for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
        const std::int64_t left = x.first_inside(kx);
        const std::int64_t right = x.last_inside(kx);
        if (pixel == 1) {
          if (left < right) combine(image + x.start(left) + kx * x.dilation, x.stride, out + left, right - left);
          continue;
        }
        for (std::int64_t ox = left; ox < right; ++ox)
          combine(image + (x.start(ox) + kx * x.dilation) * pixel, 1, out + ox * pixel, pixel);
      }
    }
    if constexpr (!is_max) divide(oy, pixel, out);
    to_.write(at, out, static_cast<std::size_t>(x.outputs * pixel));
  }

  // A window that saw nothing stays 0.
  void divide(std::int64_t oy, std::int64_t pixel, W* out) const {
    for (std::int64_t ox = 0; ox < window_.x.outputs; ++ox) {
      const std::int64_t count = elements_counted(window_, oy, ox);
      for (std::int64_t c = 0; count > 0 && c < pixel; ++c) out[ox * pixel + c] /= static_cast<W>(count);
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

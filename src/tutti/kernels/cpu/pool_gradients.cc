// The gradients of pooling: a plane of an image at a time, whichever way its elements lie.
#include <memory>

#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cpu/line_ranges.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/strided.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// One channel of one image of an operand, read and written as W, contiguous.
template <class W>
class Planes {
 public:
  Planes(const Operand& operand, bool channels_last) : operand_(operand), channels_last_(channels_last) {
    const ImageAxes axes(channels_last);
    height_ = operand.axes[axes.y].size;
    width_ = operand.axes[axes.x].size;
    channels_ = operand.axes[axes.channels].size;
  }
  [[nodiscard]] std::int64_t count() const noexcept { return operand_.axes[0].size * channels_; }
  [[nodiscard]] std::int64_t size() const noexcept { return height_ * width_; }
  void read(std::int64_t plane, W* to) const {
    Reader(at(plane), dtype_of<W>).read_into(0, size(), reinterpret_cast<std::byte*>(to));
  }
  void write(std::int64_t plane, const W* from) const {
    const Writer writer(at(plane), dtype_of<W>);
    Scratch scratch;
    for (std::int64_t i = 0; i < size(); i += block_elements)
      writer.write(i, std::min(block_elements, size() - i), reinterpret_cast<const std::byte*>(from + i), scratch);
  }

 private:
  [[nodiscard]] Operand at(std::int64_t plane) const {
    Operand out = operand_;
    const std::int64_t first = channels_last_ ? plane / channels_ * size() * channels_ + plane % channels_ : plane * size();
    const std::int64_t step = channels_last_ ? channels_ : 1;
    out.data += first * static_cast<std::int64_t>(size_of(operand_.dtype));
    out.rank = 1;
    out.axes[0] = {size(), step};
    return out;
  }
  const Operand& operand_;
  bool channels_last_;
  std::int64_t height_;
  std::int64_t width_;
  std::int64_t channels_;
};

// Calls visit(output, place) with the place of each element a window sees, for every output.
template <class Visit>
void for_each_seen(const WindowAttributes& window, std::int64_t oy, std::int64_t ox, Visit&& visit) {
  for (std::int64_t ky = 0; ky < window.y.kernel; ++ky) {
    const std::int64_t row = window.y.start(oy) + ky * window.y.dilation;
    if (row < 0 || row >= window.y.size) continue;
    for (std::int64_t kx = 0; kx < window.x.kernel; ++kx) {
      const std::int64_t column = window.x.start(ox) + kx * window.x.dilation;
      if (column >= 0 && column < window.x.size) visit(row * window.x.size + column);
    }
  }
}

// Where the largest element of a window stands, the first of several; a NaN is larger than any.
template <class W>
std::int64_t largest_in(const WindowAttributes& window, std::int64_t oy, std::int64_t ox, const W* plane) {
  std::int64_t best = -1;
  for_each_seen(window, oy, ox, [&](std::int64_t place) {
    const W value = plane[place];
    if (best < 0 || value > plane[best] || (value != value && plane[best] == plane[best])) best = place;
  });
  return best;
}

// body(output, oy, ox) for every place of a plane's outputs.
template <class Body>
void for_each_output(const WindowAttributes& window, Body&& body) {
  for (std::int64_t oy = 0; oy < window.y.outputs; ++oy) {
    for (std::int64_t ox = 0; ox < window.x.outputs; ++ox) body(oy * window.x.outputs + ox, oy, ox);
  }
}

// body(inputs, output): contiguous planes, the output's zero, for each channel of each image.
template <class W, class Body>
void for_each_plane(const KernelCall& call, Parallel& parallel, const Body& body) {
  const auto window = call.attributes->as<WindowAttributes>();
  const Planes<W> first(call.in(0), window.channels_last);
  const Planes<W> second(call.in(call.inputs - 1U), window.channels_last);
  const Planes<W> out(call.out(), window.channels_last);
  const std::int64_t work = out.count() * window.y.outputs * window.x.outputs * window.y.kernel * window.x.kernel;
  for_each_lines(parallel, out.count(), work, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t sizes = first.size() + second.size() + out.size();
    const auto room = std::make_unique_for_overwrite<W[]>(static_cast<std::size_t>(sizes));
    W* const a = room.get();
    W* const b = a + first.size();
    W* const to = b + second.size();
    for (std::int64_t plane = begin; plane < end; ++plane) {
      first.read(plane, a);
      if (call.inputs > 1) second.read(plane, b);
      std::fill(to, to + out.size(), W{0});
      body(window, a, b, to);
      out.write(plane, to);
    }
  });
}

template <class Body>
void run(const KernelCall& call, KernelContext& context, const Body& body) {
  visit_dtype<wide_floats>(working_dtype(call.out().dtype), [&]<class W>(W) { for_each_plane<W>(call, context.parallel, body); });
}

}  // namespace

static void max_pool_grad(const KernelCall& call, KernelContext& context) {
  run(call, context, []<class W>(const WindowAttributes& window, const W* x, const W* g, W* to) {
    for_each_output(window, [&](std::int64_t output, std::int64_t oy, std::int64_t ox) {
      if (const std::int64_t place = largest_in(window, oy, ox, x); place >= 0) to[place] += g[output];
    });
  });
}

static void max_pool_picked(const KernelCall& call, KernelContext& context) {
  run(call, context, []<class W>(const WindowAttributes& window, const W* x, const W* other, W* to) {
    for_each_output(window, [&](std::int64_t output, std::int64_t oy, std::int64_t ox) {
      if (const std::int64_t place = largest_in(window, oy, ox, x); place >= 0) to[output] = other[place];
    });
  });
}

static void avg_pool_grad(const KernelCall& call, KernelContext& context) {
  run(call, context, []<class W>(const WindowAttributes& window, const W* g, const W*, W* to) {
    for_each_output(window, [&](std::int64_t output, std::int64_t oy, std::int64_t ox) {
      const std::int64_t count = elements_counted(window, oy, ox);
      if (count <= 0) return;
      const W share = g[output] / static_cast<W>(count);
      for_each_seen(window, oy, ox, [&](std::int64_t place) { to[place] += share; });
    });
  });
}

[[maybe_unused]] static const bool pool_gradients_are_registered =
    register_host_kernel("MaxPoolGrad", max_pool_grad, floating_dtypes) &&
    register_host_kernel("MaxPoolGradGrad", max_pool_picked, floating_dtypes) &&
    register_host_kernel("AvgPoolGrad", avg_pool_grad, floating_dtypes);

}  // namespace tutti::kernels

#include <algorithm>
#include <memory>
#include <vector>

#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cpu/convolution_products.h"
#include "tutti/kernels/cpu/convolution_rows.h"
#include "tutti/kernels/cpu/line_ranges.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// Lines of the image that are laid out at a time stay in the second cache.
constexpr std::int64_t band_bytes = 192 * 1024;

// Where a kernel's taps find their elements among the lines that were laid out for a band of outputs. A line with its padding is
// dealt out to as many phases as the stride has, so that what neighbouring outputs see through one tap is contiguous.
class Convolution {
 public:
  explicit Convolution(const KernelCall& call)
      : attributes_(call.attributes->as<ConvolutionAttributes>()),
        images_(call.in(0).axes[0].size),
        channels_in_(call.in(1).axes[1].size),
        channels_out_(call.in(1).axes[0].size / attributes_.groups) {}

  template <class T>
  void run(const KernelCall& call, Parallel& parallel) {
    const ConvolutionRows<T>& rows = convolution_rows<T>();
    const typename ConvolutionRows<T>::Block& block = channels_out_ == 1 ? rows.single : rows.several;
    const WindowAxis& y = attributes_.window.y;
    const WindowAxis& x = attributes_.window.x;
    phases_ = std::min(x.stride, (x.kernel - 1) * x.dilation + 1);
    width_ = x.outputs + (x.kernel - 1) * x.dilation / x.stride + rows.slack;
    plan_bands(static_cast<std::int64_t>(sizeof(T)), static_cast<std::int64_t>(parallel.width()));
    std::vector<std::int64_t> offsets;
    for (std::int64_t c = 0; c < channels_in_; ++c) {
      for (std::int64_t ky = 0; ky < y.kernel; ++ky) {
        for (std::int64_t kx = 0; kx < x.kernel; ++kx) {
          const std::int64_t along = kx * x.dilation;
          offsets.push_back(((c * lines_ + ky * y.dilation) * phases_ + along % x.stride) * width_ + along / x.stride);
        }
      }
    }
    const std::unique_ptr<T[]> weights = packed<T>(call.in(1), block.channels, parallel);
    const std::int64_t plane = y.outputs * x.outputs;
    const std::int64_t blocks = (channels_out_ + block.channels - 1) / block.channels;
    const auto taps = static_cast<std::int64_t>(offsets.size());
    const std::int64_t bands = (y.outputs + band_ - 1) / band_;
    const std::int64_t groups = images_ * attributes_.groups;
    for_each_lines(parallel, groups * bands, groups * channels_out_ * plane * taps, [&](std::int64_t begin, std::int64_t end) {
      const auto room = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(channels_in_ * lines_ * phases_ * width_));
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t group = i / bands;
        const std::int64_t first = i % bands * band_;
        const std::int64_t last = std::min(first + band_, y.outputs);
        lay_out(call.in(0).as<T>() + group * channels_in_ * y.size * x.size, first, last, room.get());
        for (std::int64_t b = 0; b < blocks; ++b) {
          const std::int64_t channel = b * block.channels;
          const T* own = weights.get() + (group % attributes_.groups * blocks + b) * taps * block.channels;
          T* out = call.out().as<T>() + (group * channels_out_ + channel) * plane;
          for (std::int64_t oy = first; oy < last; ++oy) {
            block.line(room.get() + (oy - first) * y.stride * phases_ * width_, offsets.data(), taps, own, out + oy * x.outputs,
                       plane, std::min(block.channels, channels_out_ - channel), x.outputs);
          }
        }
      }
    });
  }

 private:
  // Enough bands for the cores, no larger than fits.
  void plan_bands(std::int64_t element_size, std::int64_t cores) {
    const WindowAxis& y = attributes_.window.y;
    const auto lines_for = [&](std::int64_t outputs) { return (outputs - 1) * y.stride + (y.kernel - 1) * y.dilation + 1; };
    const std::int64_t fair = images_ * attributes_.groups * y.outputs / (8 * cores);
    const std::int64_t most = std::min(y.outputs, std::max<std::int64_t>(fair, 4));
    band_ = 1;
    while (band_ < most && channels_in_ * lines_for(band_ + 1) * phases_ * width_ * element_size <= band_bytes) ++band_;
    lines_ = lines_for(band_);
  }

  // (group, block of channels, tap, channel of the block); zeros for channels that are not there.
  template <class T>
  std::unique_ptr<T[]> packed(const Operand& weight, std::int64_t block, Parallel& parallel) const {
    const std::int64_t taps = channels_in_ * attributes_.window.y.kernel * attributes_.window.x.kernel;
    const std::int64_t blocks = (channels_out_ + block - 1) / block;
    const std::int64_t all = attributes_.groups * blocks;
    auto out = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(all * taps * block));
    for_each_lines(parallel, all, all * taps * block, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T* to = out.get() + i * taps * block;
        for (std::int64_t c = 0; c < block; ++c) {
          const std::int64_t channel = i % blocks * block + c;
          const T* from = weight.as<T>() + (i / blocks * channels_out_ + channel) * taps;
          for (std::int64_t t = 0; t < taps; ++t) to[t * block + c] = channel < channels_out_ ? from[t] : T{0};
        }
      }
    });
    return out;
  }

  // The lines that the outputs first ... last - 1 see, of all channels.
  template <class T>
  void lay_out(const T* image, std::int64_t first, std::int64_t last, T* to) const {
    const WindowAxis& y = attributes_.window.y;
    const WindowAxis& x = attributes_.window.x;
    const std::int64_t top = y.start(first);
    const std::int64_t bottom = y.start(last - 1) + (y.kernel - 1) * y.dilation + 1;
    for (std::int64_t c = 0; c < channels_in_; ++c) {
      for (std::int64_t line = top; line < bottom; ++line) {
        const T* from = line >= 0 && line < y.size ? image + (c * y.size + line) * x.size : nullptr;
        T* target = to + (c * lines_ + line - top) * phases_ * width_;
        for (std::int64_t phase = 0; phase < phases_; ++phase) lay_out_phase(from, phase, target + phase * width_);
      }
    }
  }

  // Elements phase - padding, phase - padding + stride, ... of a line; zeros where there are none.
  template <class T>
  void lay_out_phase(const T* line, std::int64_t phase, T* to) const {
    const WindowAxis& x = attributes_.window.x;
    if (line == nullptr) {
      std::fill(to, to + width_, T{0});
      return;
    }
    const std::int64_t start = phase - x.padding;
    const std::int64_t begin = start >= 0 ? 0 : std::min(width_, (-start + x.stride - 1) / x.stride);
    const std::int64_t end = std::clamp(start < x.size ? (x.size - 1 - start) / x.stride + 1 : 0, begin, width_);
    std::fill(to, to + begin, T{0});
    if (x.stride == 1) {
      std::copy(line + start + begin, line + start + end, to + begin);
    } else {
      for (std::int64_t j = begin; j < end; ++j) to[j] = line[start + j * x.stride];
    }
    std::fill(to + end, to + width_, T{0});
  }

  ConvolutionAttributes attributes_;
  std::int64_t images_;
  std::int64_t channels_in_;   // of a group
  std::int64_t channels_out_;  // of a group
  std::int64_t phases_ = 1;
  std::int64_t width_ = 0;  // of a phase of a line that was laid out
  std::int64_t lines_ = 0;  // laid out for a band
  std::int64_t band_ = 1;   // lines of outputs
};

// The loop needs lines that fill its vectors, or so little to do that columns are not worth their making. Single pixels are a
// product as they are.
bool has_own_loop(const Operand& images, const WindowAttributes& window) {
  constexpr std::int64_t shortest_line = 16;
  constexpr std::int64_t little = 64 * 1024;
  const auto is_plain = [](const WindowAxis& axis) { return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0; };
  const bool is_mostly_image = window.y.padding <= window.y.size && window.x.padding <= window.x.size;
  if (!wide_floats.contains(images.dtype) || window.channels_last || !is_mostly_image) return false;
  if (is_plain(window.y) && is_plain(window.x)) return false;
  return window.x.outputs >= shortest_line || images.count() <= little;
}

}  // namespace

static void convolution(const KernelCall& call, KernelContext& context) {
  if (call.out().count() == 0) return;
  if (!has_own_loop(call.in(0), call.attributes->as<ConvolutionAttributes>().window))
    return convolve_by_products(call, context.parallel);
  visit_dtype<wide_floats>(call.in(0).dtype, [&]<class T>(T) { Convolution(call).run<T>(call, context.parallel); });
}

[[maybe_unused]] static const bool convolution_is_registered = register_host_kernel("Conv2D", convolution, floating_dtypes);

}  // namespace tutti::kernels

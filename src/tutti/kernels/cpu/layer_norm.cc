#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cpu/line_rows.h"
#include "tutti/kernels/cpu/lines.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/rows.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// Weight or bias as W; null where there is none.
template <class W>
class Parameter {
 public:
  Parameter(const Operand* operand, std::int64_t n) {
    if (operand == nullptr) return;
    const LineSource<W> source(*operand);
    if (!source.converts()) {
      data_ = operand->as<W>();
      return;
    }
    own_ = std::make_unique_for_overwrite<W[]>(static_cast<std::size_t>(n));
    source.read_into(0, n, own_.get());
    data_ = own_.get();
  }
  [[nodiscard]] const W* from(std::int64_t at) const { return data_ == nullptr ? nullptr : data_ + at; }

 private:
  std::unique_ptr<W[]> own_;
  const W* data_ = nullptr;
};

template <class W>
struct LayerNorm {
  const LineRows<W>& rows;
  LineSource<W> x;
  LineTarget<W> out;
  Parameter<W> weight;
  Parameter<W> bias;
  double epsilon;
  std::int64_t length;

  [[nodiscard]] double sum(std::int64_t at, std::int64_t n) const {
    LineRoom<W> room;
    double total = 0;
    x.for_each_piece(at, n, room, [&](std::int64_t, const W* piece, std::size_t some) { total += rows.sum(piece, some); });
    return total;
  }
  [[nodiscard]] double squares(std::int64_t at, std::int64_t n, W mean) const {
    LineRoom<W> room;
    double total = 0;
    x.for_each_piece(at, n, room,
                     [&](std::int64_t, const W* piece, std::size_t some) { total += rows.squares(piece, mean, some); });
    return total;
  }
  void finish(std::int64_t line, std::int64_t at, std::int64_t n, W mean, W factor) const {
    LineRoom<W> room;
    x.for_each_piece(line + at, n, room, [&](std::int64_t from, const W* piece, std::size_t some) {
      W* to = out.room(from, room);
      rows.normalise(piece, mean, factor, weight.from(from - line), bias.from(from - line), to, some);
      out.write(from, to, some);
    });
  }
  [[nodiscard]] W factor_of(double sum_of_squares) const {
    return static_cast<W>(1 / std::sqrt(sum_of_squares / static_cast<double>(length) + epsilon));
  }
  [[nodiscard]] W mean_of(double total) const { return static_cast<W>(total / static_cast<double>(length)); }

  // So many lines that stay in the cache.
  void some(std::int64_t begin, std::int64_t lines) const {
    LineRoom<W> room;
    const W* from = x.read(begin, lines * length, room);
    W* to = out.room(begin, room);
    rows.layer_norm_lines(from, weight.from(0), bias.from(0), epsilon, to, static_cast<std::size_t>(lines),
                          static_cast<std::size_t>(length));
    out.write(begin, to, static_cast<std::size_t>(lines * length));
  }
  void one(std::int64_t line) const {
    const W mean = mean_of(sum(line, length));
    finish(line, 0, length, mean, factor_of(squares(line, length, mean)));
  }
  void one_with_all_cores(std::int64_t line, Parallel& parallel) const {
    std::vector<double> parts(segments_of(length));
    const auto total = [&] {
      double sum_of_parts = 0;
      for (const double part : parts) sum_of_parts += part;
      return sum_of_parts;
    };
    for_each_segment(parallel, length, [&](std::size_t s, std::int64_t at, std::int64_t n) { parts[s] = sum(line + at, n); });
    const W mean = mean_of(total());
    for_each_segment(parallel, length,
                     [&](std::size_t s, std::int64_t at, std::int64_t n) { parts[s] = squares(line + at, n, mean); });
    const W factor = factor_of(total());
    for_each_segment(parallel, length, [&](std::size_t, std::int64_t at, std::int64_t n) { finish(line, at, n, mean, factor); });
  }
};

template <class W>
void layer_norm_as(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<LayerNormAttributes>();
  const LineShape shape(call.in(0), static_cast<std::size_t>(attributes.axes));
  if (shape.lines == 0 || shape.length == 0) return;
  const Operand* weight = attributes.has_weight ? &call.in(1) : nullptr;
  const Operand* bias = attributes.has_bias ? &call.in(attributes.has_weight ? 2 : 1) : nullptr;
  const LayerNorm<W> norm{line_rows<W>(),
                          LineSource<W>(call.in(0)),
                          LineTarget<W>(call.out()),
                          Parameter<W>(weight, shape.length),
                          Parameter<W>(bias, shape.length),
                          attributes.epsilon,
                          shape.length};
  if (shape.length > long_line) {
    for (std::int64_t i = 0; i < shape.lines; ++i) norm.one_with_all_cores(i * shape.length, context.parallel);
    return;
  }
  const std::int64_t at_once = lines_at_once(norm.x, shape.length);
  for_each_lines(context.parallel, shape.lines, shape.lines * shape.length, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += std::max<std::int64_t>(1, at_once)) {
      if (at_once == 0) {
        norm.one(i * shape.length);
      } else {
        norm.some(i * shape.length, std::min(at_once, end - i));
      }
    }
  });
}

// The gradients of x, weight and bias. Lines are cut into chunks by their number alone, so that the sums over them are the same
// on any number of cores.
template <class W>
struct LayerNormGradient {
  static constexpr std::int64_t most_chunks = 32;
  static constexpr std::int64_t lines_together = 16;  // whose sums are kept in W; then they go on in double

  const LineRows<W>& rows;
  LineSource<W> x;
  LineSource<W> given;
  Parameter<W> weight;
  LineTarget<W> out;
  double epsilon;
  std::int64_t length;

  static const W* line_of(const LineSource<W>& source, std::int64_t at, std::int64_t n, W* room) {
    if (!source.converts()) return source.at(at);
    source.read_into(at, n, room);
    return room;
  }
  // `sums`: those of the weight and, behind them, those of the bias.
  void some(std::int64_t begin, std::int64_t end, double* sums) const {
    const auto n = static_cast<std::size_t>(length);
    const auto room = std::make_unique_for_overwrite<W[]>(n * 5);
    W* const near = room.get() + 3 * n;
    for (std::int64_t first = begin; first < end; first += lines_together) {
      std::fill_n(near, 2 * n, W{0});
      for (std::int64_t line = first; line < std::min(end, first + lines_together); ++line) {
        const W* from = line_of(x, line * length, length, room.get());
        const W* g = line_of(given, line * length, length, room.get() + n);
        W* to = out.converts() ? room.get() + 2 * n : out.at(line * length);
        const auto count = static_cast<double>(length);
        const W mean = static_cast<W>(rows.sum(from, n) / count);
        const W factor = static_cast<W>(1 / std::sqrt(rows.squares(from, mean, n) / count + epsilon));
        rows.norm_gradient(from, g, weight.from(0), mean, factor, to, n);
        rows.add_norm_columns(from, g, mean, factor, near, near + n, n);
        out.write(line * length, to, n);
      }
      for (std::size_t i = 0; i < 2 * n; ++i) sums[i] += static_cast<double>(near[i]);
    }
  }
};

template <class W>
void layer_norm_gradient_as(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<LayerNormAttributes>();
  const LineShape shape(call.in(0), static_cast<std::size_t>(attributes.axes));
  if (shape.length == 0) return;
  using Gradient = LayerNormGradient<W>;
  const Gradient gradient{line_rows<W>(),
                          LineSource<W>(call.in(0)),
                          LineSource<W>(call.in(1)),
                          Parameter<W>(attributes.has_weight ? &call.in(2) : nullptr, shape.length),
                          LineTarget<W>(call.out()),
                          attributes.epsilon,
                          shape.length};
  const std::int64_t chunks = std::clamp<std::int64_t>(shape.lines / Gradient::lines_together, 1, Gradient::most_chunks);
  const auto columns = static_cast<std::size_t>(2 * shape.length);
  std::vector<double> sums(columns * static_cast<std::size_t>(chunks));
  for_each_lines(context.parallel, chunks, shape.lines * shape.length, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      gradient.some(shape.lines * i / chunks, shape.lines * (i + 1) / chunks,
                    sums.data() + static_cast<std::size_t>(i) * columns);
  });
  for (std::size_t i = columns; i < sums.size(); ++i) sums[i % columns] += sums[i];
  std::vector<W> narrow(columns);
  for (std::size_t i = 0; i < columns; ++i) narrow[i] = static_cast<W>(sums[i]);
  const auto put = [&](const Operand& to, const W* from) {
    const LineTarget<W> target(to);
    if (!target.converts()) std::copy_n(from, shape.length, target.at(0));
    target.write(0, from, static_cast<std::size_t>(shape.length));
  };
  if (attributes.has_weight) put(call.out(1), narrow.data());
  if (attributes.has_bias) put(call.out(attributes.has_weight ? 2 : 1), narrow.data() + shape.length);
}

}  // namespace

static void layer_norm(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats>(working_dtype(call.in(0).dtype), [&]<class W>(W) { layer_norm_as<W>(call, context); });
}

static void layer_norm_gradient(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats>(working_dtype(call.in(0).dtype), [&]<class W>(W) { layer_norm_gradient_as<W>(call, context); });
}

[[maybe_unused]] static const bool layer_norm_is_registered =
    register_host_kernel("LayerNorm", layer_norm, floating_dtypes) &&
    register_host_kernel("LayerNormGrad", layer_norm_gradient, floating_dtypes);

}  // namespace tutti::kernels

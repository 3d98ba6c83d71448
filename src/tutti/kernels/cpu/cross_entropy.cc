#include <cmath>

#include "tutti/base/error.h"
#include "tutti/exec/index_message.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/rows.h"
#include "tutti/kernels/cpu/softmax.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// Dense labels of either width.
class Labels {
 public:
  explicit Labels(const Operand& operand) : data_(operand.data), is_wide_(is_wide_index(operand.dtype)) {}
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const noexcept {
    return is_wide_ ? reinterpret_cast<const std::int64_t*>(data_)[i] : reinterpret_cast<const std::int32_t*>(data_)[i];
  }

 private:
  const std::byte* data_;
  bool is_wide_;
};

template <class W>
struct CrossEntropy {
  CrossEntropyAttributes attributes;
  LineSource<W> x;
  LineTarget<W> out;
  Labels labels;
  std::int64_t length;
  Site site;

  explicit CrossEntropy(const KernelCall& call)
      : attributes(call.attributes->as<CrossEntropyAttributes>()),
        x(call.in(0)),
        out(call.out()),
        labels(call.in(1)),
        length(LineShape(call.in(0)).length),
        site(call.site) {}

  // The label of a line, or -1 where it is ignored.
  [[nodiscard]] std::int64_t label_of(std::int64_t line) const {
    const std::int64_t label = labels[line];
    if (attributes.ignores(label)) return -1;
    if (label < 0 || label >= length) throw KernelFailed(index_out_of_range(label, 1, length), site);
    return label;
  }
  void one(std::int64_t line, Parallel& parallel) const {
    LineRoom<W> room;
    W* loss = out.room(line, room);
    const std::int64_t label = label_of(line);
    if (label < 0) {
      *loss = 0;
    } else {
      const ExpSum<W> whole = exp_sum_of(x, line * length, length, parallel);
      LineRoom<W> picked;
      *loss = static_cast<W>(std::log(whole.sum)) - (*x.read(line * length + label, 1, picked) - whole.largest);
    }
    out.write(line, loss, 1);
  }
  // So many lines that stay in the cache.
  void some(std::int64_t begin, std::int64_t lines) const {
    LineRoom<W> room;
    LineRoom<W> results;
    std::array<W, most_lines_at_once> largest;
    std::array<W, most_lines_at_once> sums;
    const W* from = x.read(begin * length, lines * length, room);
    line_rows<W>().exp_sum_lines(from, static_cast<std::size_t>(lines), static_cast<std::size_t>(length), largest.data(),
                                 sums.data());
    W* losses = out.room(begin, results);
    for (std::int64_t i = 0; i < lines; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t label = label_of(begin + i);
      losses[i] = label < 0 ? W{0} : std::log(sums[at]) - (from[i * length + label] - largest[at]);
    }
    out.write(begin, losses, static_cast<std::size_t>(lines));
  }
};

template <class W>
void cross_entropy_as(const KernelCall& call, KernelContext& context) {
  const CrossEntropy<W> loss(call);
  const std::int64_t length = loss.length;
  const std::int64_t lines = LineShape(call.in(0)).lines;
  const std::int64_t at_once = length == 0 ? 0 : lines_at_once(loss.x, length);
  if (length > long_line) {
    for (std::int64_t i = 0; i < lines; ++i) loss.one(i, context.parallel);
    return;
  }
  for_each_lines(context.parallel, lines, lines * length, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += std::max<std::int64_t>(1, at_once)) {
      if (at_once == 0) {
        loss.one(i, context.parallel);
      } else {
        loss.some(i, std::min(at_once, end - i));
      }
    }
  });
}

// softmax(x) less 1 at the label, times the factor of its line; 0 where the label is ignored.
template <class W>
void gradient_as(const KernelCall& call, KernelContext& context) {
  const CrossEntropy<W> loss(call);
  const std::int64_t length = loss.length;
  const std::int64_t lines = LineShape(call.in(0)).lines;
  if (lines == 0 || length == 0) return;
  const Reader factors(call.in(2), dtype_of<W>);
  const std::int64_t at_once = std::max<std::int64_t>(1, lines_at_once(loss.x, length));
  for_each_lines(context.parallel, lines, lines * length, [&](std::int64_t begin, std::int64_t end) {
    Scratch scratch;
    const auto room = loss.x.room_for(at_once * length);
    for (std::int64_t first = begin; first < end; first += at_once) {
      const std::int64_t n = std::min(at_once, end - first);
      const W* from = loss.x.at(first * length);
      W* to = loss.out.at(first * length);
      if (room != nullptr) {
        loss.x.read_into(first * length, n * length, room.get());
        from = to = room.get();
      }
      line_rows<W>().softmax_lines(from, to, static_cast<std::size_t>(n), static_cast<std::size_t>(length), false);
      const auto* factor = reinterpret_cast<const W*>(factors.read(first, n, scratch));
      for (std::int64_t i = 0; i < n; ++i) {
        W* line = to + i * length;
        const std::int64_t label = loss.label_of(first + i);
        if (label < 0) {
          std::fill_n(line, length, W{0});
        } else {
          line[label] -= 1;
          line_rows<W>().scale(line, factor[i], line, static_cast<std::size_t>(length));
        }
      }
      loss.out.write(first * length, to, static_cast<std::size_t>(n * length));
    }
  });
}

template <class W>
void mean_as(const KernelCall& call) {
  const auto attributes = call.attributes->as<CrossEntropyAttributes>();
  const LineSource<W> losses(call.in(0));
  const Labels labels(call.in(1));
  const std::int64_t count = call.in(0).count();
  std::int64_t kept = 0;
  for (std::int64_t i = 0; i < count; ++i) kept += attributes.ignores(labels[i]) ? 0 : 1;
  LineRoom<W> room;
  double sum = 0;  // what was ignored is 0
  losses.for_each_piece(0, count, room,
                        [&](std::int64_t, const W* piece, std::size_t n) { sum += line_rows<W>().sum(piece, n); });
  const LineTarget<W> out(call.out());
  W* mean = out.room(0, room);
  *mean = static_cast<W>(sum / static_cast<double>(kept));
  out.write(0, mean, 1);
}

}  // namespace

static void cross_entropy(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats>(working_dtype(call.in(0).dtype), [&]<class W>(W) { cross_entropy_as<W>(call, context); });
}

static void cross_entropy_gradient(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats>(working_dtype(call.in(0).dtype), [&]<class W>(W) { gradient_as<W>(call, context); });
}

static void cross_entropy_mean(const KernelCall& call, KernelContext&) {
  visit_dtype<wide_floats>(working_dtype(call.in(0).dtype), [&]<class W>(W) { mean_as<W>(call); });
}

[[maybe_unused]] static const bool cross_entropy_is_registered =
    register_host_kernel("SparseSoftmaxCrossEntropyWithLogits", cross_entropy, floating_dtypes) &&
    register_host_kernel("SparseSoftmaxCrossEntropyGrad", cross_entropy_gradient, floating_dtypes) &&
    register_host_kernel("CrossEntropyMean", cross_entropy_mean, floating_dtypes);

}  // namespace tutti::kernels

#include "tutti/base/error.h"
#include "tutti/exec/index_message.h"
#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/softmax.h"

namespace tutti::kernels {

namespace {

// Dense labels of either width.
class Labels {
 public:
  explicit Labels(const Operand& operand) noexcept : data_(operand.data), is_wide_(operand.dtype == DType::i64) {}
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const noexcept {
    return is_wide_ ? reinterpret_cast<const std::int64_t*>(data_)[i] : reinterpret_cast<const std::int32_t*>(data_)[i];
  }

 private:
  const std::byte* data_;
  bool is_wide_;
};

template <class W>
void cross_entropy_as(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<CrossEntropyAttributes>();
  const LineShape shape(call.in(0));
  const std::int64_t length = shape.length;
  const LineSource<W> x(call.in(0));
  const LineTarget<W> out(call.out());
  const Labels labels(call.in(1));
  const auto one = [&](std::int64_t line) {
    LineRoom<W> room;
    W* loss = out.room(line, room);
    const std::int64_t label = labels[line];
    if (attributes.ignores(label)) {
      *loss = 0;
    } else if (label < 0 || label >= length) {
      throw KernelFailed(index_out_of_range(label, 1, length), call.site);
    } else {
      const ExpSum<W> whole = exp_sum_of(x, line * length, length, context.parallel);
      LineRoom<W> picked;
      *loss = static_cast<W>(std::log(whole.sum)) - (*x.read(line * length + label, 1, picked) - whole.largest);
    }
    out.write(line, loss, 1);
  };
  if (length > long_line) {
    for (std::int64_t i = 0; i < shape.lines; ++i) one(i);
    return;
  }
  for_each_lines(context.parallel, shape.lines, shape.lines * length, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) one(i);
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
  if (call.in(0).dtype == DType::f64) return cross_entropy_as<double>(call, context);
  cross_entropy_as<float>(call, context);
}

static void cross_entropy_mean(const KernelCall& call, KernelContext&) {
  if (call.in(0).dtype == DType::f64) return mean_as<double>(call);
  mean_as<float>(call);
}

[[maybe_unused]] static const bool is_registered =
    register_host_kernel("SparseSoftmaxCrossEntropyWithLogits", cross_entropy, floating_dtypes) &&
    register_host_kernel("CrossEntropyMean", cross_entropy_mean, floating_dtypes);

}  // namespace tutti::kernels

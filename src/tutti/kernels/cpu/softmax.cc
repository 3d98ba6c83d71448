#include "tutti/kernels/cpu/softmax.h"

#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

// In pieces, e^(x - largest) worked out anew where it was not kept.
template <class W, bool is_log>
void long_softmax(const LineSource<W>& x, const LineTarget<W>& out, std::int64_t begin, std::int64_t length, Parallel& parallel) {
  const LineRows<W>& rows = line_rows<W>();
  const ExpSum<W> whole = exp_sum_of(x, begin, length, parallel);
  const W largest = whole.largest;
  const auto last = static_cast<W>(is_log ? std::log(whole.sum) : 1 / whole.sum);
  const auto finish = [&](std::int64_t at, std::int64_t n) {
    LineRoom<W> room;
    x.for_each_piece(at, n, room, [&](std::int64_t from, const W* piece, std::size_t some) {
      W* to = out.room(from, room);
      if constexpr (is_log) {
        rows.subtract(piece, largest, last, to, some);
      } else {
        rows.exp_sum(piece, largest, to, some);
        rows.scale(to, last, to, some);
      }
      out.write(from, to, some);
    });
  };
  if (length <= long_line) return finish(begin, length);
  for_each_segment(parallel, length, [&](std::size_t, std::int64_t at, std::int64_t n) { finish(begin + at, n); });
}

template <class W, bool is_log>
void softmax_as(const KernelCall& call, KernelContext& context) {
  const LineShape shape(call.in(0));
  const LineSource<W> x(call.in(0));
  const LineTarget<W> out(call.out());
  if (shape.lines == 0 || shape.length == 0) return;
  const std::int64_t length = shape.length;
  if (length > long_line) {
    for (std::int64_t i = 0; i < shape.lines; ++i) long_softmax<W, is_log>(x, out, i * length, length, context.parallel);
    return;
  }
  const std::int64_t at_once = lines_at_once(x, length);
  for_each_lines(context.parallel, shape.lines, shape.lines * length, [&](std::int64_t begin, std::int64_t end) {
    LineRoom<W> room;
    for (std::int64_t i = begin; i < end; i += std::max<std::int64_t>(1, at_once)) {
      if (at_once == 0) {
        long_softmax<W, is_log>(x, out, i * length, length, context.parallel);
        continue;
      }
      const std::int64_t n = std::min(at_once, end - i);
      const W* from = x.read(i * length, n * length, room);
      W* to = out.room(i * length, room);
      line_rows<W>().softmax_lines(from, to, static_cast<std::size_t>(n), static_cast<std::size_t>(length), is_log);
      out.write(i * length, to, static_cast<std::size_t>(n * length));
    }
  });
}

}  // namespace

template <bool is_log>
static void softmax(const KernelCall& call, KernelContext& context) {
  if (call.in(0).dtype == DType::f64) return softmax_as<double, is_log>(call, context);
  softmax_as<float, is_log>(call, context);
}

[[maybe_unused]] static const bool is_registered = register_host_kernel("Softmax", softmax<false>, floating_dtypes) &&
                                                   register_host_kernel("LogSoftmax", softmax<true>, floating_dtypes);

}  // namespace tutti::kernels

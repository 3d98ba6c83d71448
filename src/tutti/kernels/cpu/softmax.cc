#include "tutti/kernels/cpu/softmax.h"

#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/rows.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// With all cores.
template <class W, bool is_log>
void long_softmax(const LineSource<W>& x, const LineTarget<W>& out, std::int64_t begin, std::int64_t length, Parallel& parallel) {
  const LineRows<W>& rows = line_rows<W>();
  const ExpSum<W> whole = exp_sum_of(x, begin, length, parallel);
  const auto last = static_cast<W>(is_log ? std::log(whole.sum) : 1 / whole.sum);
  for_each_segment(parallel, length, [&](std::size_t, std::int64_t segment, std::int64_t n) {
    LineRoom<W> room;
    x.for_each_piece(begin + segment, n, room, [&](std::int64_t at, const W* piece, std::size_t some) {
      W* to = out.room(at, room);
      if constexpr (is_log) {
        rows.subtract(piece, whole.largest, last, to, some);
      } else {
        rows.exp_sum(piece, whole.largest, to, some);
        rows.scale(to, last, to, some);
      }
      out.write(at, to, some);
    });
  });
}

// Some lines at once, each going through its passes while it is in the cache. Half precision is held in `room`.
template <class W, bool is_log>
void softmax_of_lines(const LineSource<W>& x, const LineTarget<W>& out, std::int64_t begin, std::int64_t lines,
                      std::int64_t length, W* room) {
  const auto rows = static_cast<std::size_t>(lines);
  const auto n = static_cast<std::size_t>(length);
  if (!x.converts()) return line_rows<W>().softmax_lines(x.at(begin), out.at(begin), rows, n, is_log);
  x.read_into(begin, lines * length, room);
  line_rows<W>().softmax_lines(room, room, rows, n, is_log);
  out.write(begin, room, rows * n);
}

constexpr std::int64_t strip = 64;  // columns

template <class W>
void softmax_of_strip(const LineSource<W>& x, const LineTarget<W>& out, std::int64_t begin, std::int64_t length,
                      std::int64_t stride, std::int64_t columns, W* room, bool is_log) {
  const auto n = static_cast<std::size_t>(length);
  const auto count = static_cast<std::size_t>(columns);
  const LineRows<W>& rows = line_rows<W>();
  if (room == nullptr)
    return rows.softmax_columns(x.at(begin), out.at(begin), n, static_cast<std::size_t>(stride), count, is_log);
  for (std::int64_t i = 0; i < length; ++i) {
    if (x.converts()) {
      x.read_into(begin + i * stride, columns, room + i * strip);
    } else {
      std::copy_n(x.at(begin + i * stride), columns, room + i * strip);
    }
  }
  rows.softmax_columns(room, room, n, static_cast<std::size_t>(strip), count, is_log);
  for (std::int64_t i = 0; i < length; ++i) {
    if (x.converts()) {
      out.write(begin + i * stride, room + i * strip, count);
    } else {
      std::copy_n(room + i * strip, columns, out.at(begin + i * stride));
    }
  }
}

// A matrix for each element of the axes before, the softmax of each of its columns.
template <class W, bool is_log>
void softmax_by_column(const KernelCall& call, KernelContext& context, std::size_t after) {
  const LineSource<W> x(call.in(0));
  const LineTarget<W> out(call.out());
  const LineShape matrices(call.in(0), after + 1);
  const std::int64_t columns = LineShape(call.in(0), after).length;
  if (matrices.lines == 0 || matrices.length == 0) return;
  const std::int64_t length = matrices.length / columns;
  const std::int64_t strips = (columns + strip - 1) / strip;
  for_each_lines(
      context.parallel, matrices.lines * strips, matrices.lines * matrices.length, [&](std::int64_t begin, std::int64_t end) {
        // Long columns of wide rows would fall into few sets of the cache: they are read and written but once.
        const bool is_held = x.converts() || length > 32;
        const auto room = is_held ? std::make_unique_for_overwrite<W[]>(static_cast<std::size_t>(length * strip)) : nullptr;
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t first = i % strips * strip;
          softmax_of_strip(x, out, i / strips * matrices.length + first, length, columns, std::min(strip, columns - first),
                           room.get(), is_log);
        }
      });
}

template <class W, bool is_log>
void softmax_as(const KernelCall& call, KernelContext& context) {
  const auto after = static_cast<std::size_t>(call.attributes->as<SoftmaxAttributes>().after);
  if (after > 0) return softmax_by_column<W, is_log>(call, context, after);
  const LineShape shape(call.in(0));
  const LineSource<W> x(call.in(0));
  const LineTarget<W> out(call.out());
  if (shape.lines == 0 || shape.length == 0) return;
  const std::int64_t length = shape.length;
  if (length > long_line) {
    for (std::int64_t i = 0; i < shape.lines; ++i) long_softmax<W, is_log>(x, out, i * length, length, context.parallel);
    return;
  }
  const std::int64_t at_once = std::max<std::int64_t>(1, lines_at_once(x, length));
  for_each_lines(context.parallel, shape.lines, shape.lines * length, [&](std::int64_t begin, std::int64_t end) {
    LineRoom<W> small;
    const auto large = x.room_for(length > line_chunk ? length : 0);
    W* room = large != nullptr ? large.get() : small.elements.data();
    for (std::int64_t i = begin; i < end; i += at_once)
      softmax_of_lines<W, is_log>(x, out, i * length, std::min(at_once, end - i), length, room);
  });
}

}  // namespace

template <bool is_log>
static void softmax(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats>(working_dtype(call.in(0).dtype), [&]<class W>(W) { softmax_as<W, is_log>(call, context); });
}

[[maybe_unused]] static const bool softmax_is_registered = register_host_kernel("Softmax", softmax<false>, floating_dtypes) &&
                                                           register_host_kernel("LogSoftmax", softmax<true>, floating_dtypes);

}  // namespace tutti::kernels

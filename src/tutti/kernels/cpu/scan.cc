#include <algorithm>
#include <vector>

#include "tutti/exec/scan_attributes.h"
#include "tutti/kernels/cpu/line_rows.h"
#include "tutti/kernels/cpu/lines.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/scan_rows.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// Each way to scan has: Carry, what goes from piece to piece; `scan`, which writes n results and gives what is carried on;
// `total`, what a piece adds to the carry, where long lines can be cut; `step`, one row of columns; `scan_repeated`, a line of
// one element; `put_first`, the value of nothing.
template <class W>
struct FloatSum {
  using Carry = double;
  static constexpr bool can_be_cut = true;
  LineSource<W> x;
  LineTarget<W> out;

  explicit FloatSum(const KernelCall& call) : x(call.in(0)), out(call.out()) {}
  [[nodiscard]] Carry total(std::int64_t from, std::int64_t n) const {
    LineRoom<W> room;
    double sum = 0;
    x.for_each_piece(from, n, room,
                     [&](std::int64_t, const W* piece, std::size_t some) { sum += line_rows<W>().sum(piece, some); });
    return sum;
  }
  Carry scan(std::int64_t from, std::int64_t to, std::int64_t n, Carry carry) const {
    LineRoom<W> room;
    x.for_each_piece(from, n, room, [&](std::int64_t at, const W* piece, std::size_t some) {
      W* into = out.room(to + at - from, room);
      carry = scan_row<W>()(piece, into, carry, some);
      out.write(to + at - from, into, some);
    });
    return carry;
  }
  // The next n elements of as many columns.
  void step(std::int64_t from, std::int64_t to, std::int64_t n, Carry* carries) const {
    step_with(from, to, n, carries, [](double carry, W element) { return carry + static_cast<double>(element); });
  }
  template <class Next>
  void step_with(std::int64_t from, std::int64_t to, std::int64_t n, Carry* carries, const Next& next) const {
    LineRoom<W> room;
    x.for_each_piece(from, n, room, [&](std::int64_t at, const W* piece, std::size_t some) {
      W* into = out.room(to + at - from, room);
      Carry* carry = carries + (at - from);
      for (std::size_t i = 0; i < some; ++i) into[i] = static_cast<W>(carry[i] = next(carry[i], piece[i]));
      out.write(to + at - from, into, some);
    });
  }
  void put_first(std::int64_t at) const { put(at, 0); }
  void put(std::int64_t at, W value) const {
    LineRoom<W> room;
    W* into = out.room(at, room);
    *into = value;
    out.write(at, into, 1);
  }
};

// In order, and in double: no group of factors leaves the range before its turn.
template <class W>
struct FloatProduct : FloatSum<W> {
  static constexpr bool can_be_cut = false;
  using FloatSum<W>::FloatSum;
  void put_first(std::int64_t at) const { this->put(at, 1); }
  void step(std::int64_t from, std::int64_t to, std::int64_t n, double* carries) const {
    this->step_with(from, to, n, carries, [](double carry, W element) { return carry * static_cast<double>(element); });
  }
  double scan(std::int64_t from, std::int64_t to, std::int64_t n, double carry) const {
    LineRoom<W> room;
    this->x.for_each_piece(from, n, room, [&](std::int64_t at, const W* piece, std::size_t some) {
      W* into = this->out.room(to + at - from, room);
      for (std::size_t i = 0; i < some; ++i) into[i] = static_cast<W>(carry *= static_cast<double>(piece[i]));
      this->out.write(to + at - from, into, some);
    });
    return carry;
  }
};

// All as int64. Wraps.
template <bool multiplies>
struct Integers {
  using Carry = std::uint64_t;
  static constexpr bool can_be_cut = true;
  static constexpr Carry nothing = multiplies ? 1 : 0;
  LineSource<std::int64_t> x;
  std::int64_t* out;

  explicit Integers(const KernelCall& call) : x(call.in(0)), out(call.out().as<std::int64_t>()) {}
  static Carry next(Carry carry, std::int64_t element) {
    const auto value = static_cast<Carry>(element);
    return multiplies ? carry * value : carry + value;
  }
  [[nodiscard]] Carry total(std::int64_t from, std::int64_t n) const {
    LineRoom<std::int64_t> room;
    Carry carry = nothing;
    x.for_each_piece(from, n, room, [&](std::int64_t, const std::int64_t* piece, std::size_t some) {
      Carry here = carry;
      for (std::size_t i = 0; i < some; ++i) here = next(here, piece[i]);
      carry = here;
    });
    return carry;
  }
  Carry scan(std::int64_t from, std::int64_t to, std::int64_t n, Carry carry) const {
    LineRoom<std::int64_t> room;
    x.for_each_piece(from, n, room, [&](std::int64_t at, const std::int64_t* piece, std::size_t some) {
      std::int64_t* const into = out + to + at - from;
      Carry here = carry;  // which no result can be
      for (std::size_t i = 0; i < some; ++i) into[i] = static_cast<std::int64_t>(here = next(here, piece[i]));
      carry = here;
    });
    return carry;
  }
  void step(std::int64_t from, std::int64_t to, std::int64_t n, Carry* carries) const {
    LineRoom<std::int64_t> room;
    x.for_each_piece(from, n, room, [&](std::int64_t at, const std::int64_t* piece, std::size_t some) {
      std::int64_t* const into = out + to + at - from;
      Carry* const carry = carries + (at - from);
      for (std::size_t i = 0; i < some; ++i) into[i] = static_cast<std::int64_t>(carry[i] = next(carry[i], piece[i]));
    });
  }
  void put_first(std::int64_t at) const { out[at] = static_cast<std::int64_t>(nothing); }
};

// A strip of columns at a time goes down the rows of its matrix.
template <bool multiplies, class Scan>
void scan_columns(const KernelCall& call, Parallel& parallel, const Scan& scan, const ScanAttributes& attributes) {
  using Carry = typename Scan::Carry;
  constexpr std::int64_t strip = 256;
  const Operand& in = call.in(0);
  const auto after = static_cast<std::size_t>(attributes.after);
  const std::int64_t length = in.axes[in.rank - 1 - after].size;
  const std::int64_t columns = LineShape(in, after).length;
  const std::int64_t initial = attributes.include_initial ? 1 : 0;
  const std::int64_t strips = (columns + strip - 1) / strip;
  for_each_lines(parallel, LineShape(in, after + 1).lines * strips, in.count(), [&](std::int64_t begin, std::int64_t end) {
    std::vector<Carry> carries(static_cast<std::size_t>(std::min(strip, columns)));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % strips * strip;
      const std::int64_t some = std::min(strip, columns - first);
      std::int64_t from = i / strips * length * columns + first;
      std::int64_t to = i / strips * (length + initial) * columns + first;
      std::fill(carries.begin(), carries.end(), Carry{multiplies ? 1 : 0});
      if (initial != 0) {
        for (std::int64_t k = 0; k < some; ++k) scan.put_first(to + k);
        to += columns;
      }
      for (std::int64_t row = 0; row < length; ++row, from += columns, to += columns) scan.step(from, to, some, carries.data());
    }
  });
}

template <bool multiplies, class Scan>
void scan_lines(const KernelCall& call, Parallel& parallel, const Scan& scan) {
  using Carry = typename Scan::Carry;
  const auto attributes = call.attributes->as<ScanAttributes>();
  if (attributes.after > 0) return scan_columns<multiplies>(call, parallel, scan, attributes);
  const LineShape shape(call.in(0));
  const std::int64_t length = shape.length;
  const std::int64_t initial = attributes.include_initial ? 1 : 0;
  const std::int64_t step = length + initial;
  constexpr Carry nothing = multiplies ? 1 : 0;
  if constexpr (Scan::can_be_cut) {
    if (length > long_line && shape.lines < 16) {
      std::vector<Carry> carries(segments_of(length));
      for (std::int64_t line = 0; line < shape.lines; ++line) {
        for_each_segment(parallel, length,
                         [&](std::size_t s, std::int64_t at, std::int64_t n) { carries[s] = scan.total(line * length + at, n); });
        Carry before = nothing;
        for (Carry& carry : carries) {
          const Carry here = carry;
          carry = before;
          before = multiplies ? before * here : before + here;
        }
        if (initial != 0) scan.put_first(line * step);
        for_each_segment(parallel, length, [&](std::size_t s, std::int64_t at, std::int64_t n) {
          scan.scan(line * length + at, line * step + initial + at, n, carries[s]);
        });
      }
      return;
    }
  }
  for_each_lines(parallel, shape.lines, shape.lines * length, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      if (initial != 0) scan.put_first(line * step);
      scan.scan(line * length, line * step + initial, length, nothing);
    }
  });
}

template <bool multiplies, class W>
using ScanOf =
    std::conditional_t<std::is_integral_v<W>, Integers<multiplies>, std::conditional_t<multiplies, FloatProduct<W>, FloatSum<W>>>;

}  // namespace

template <bool multiplies>
static void scan(const KernelCall& call, KernelContext& context) {
  visit_dtype<wide_floats | DTypes{DType::i64}>(working_dtype(call.out().dtype), [&]<class W>(W) {
    scan_lines<multiplies>(call, context.parallel, ScanOf<multiplies, W>(call));
  });
}

[[maybe_unused]] static const bool scan_is_registered =
    register_host_kernel("Cumsum", scan<false>) && register_host_kernel("Cumprod", scan<true>);

}  // namespace tutti::kernels

#include "tutti/kernels/cpu/dot.h"

#include <algorithm>
#include <vector>

#include "tutti/kernels/cpu/line_ranges.h"
#include "tutti/kernels/cpu/row_order.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// One factor of every product.
class Factor {
 public:
  Factor(const Operand& operand, Row convert, std::size_t working_size, Parallel& parallel)
      : near_(operand, parallel), reader_(near_.operand(), convert, working_size) {}
  template <class T>
  const T* read(std::int64_t begin, std::int64_t n, Scratch& scratch) const {
    return reinterpret_cast<const T*>(reader_.read(begin, n, scratch));
  }

 private:
  RowOrder near_;
  Reader reader_;
};

// T: what the factors are read as, W: what is added up.
template <class T, class W>
class Dots {
 public:
  Dots(const KernelCall& call, std::int64_t k, W (*dot)(const T*, const T*, std::size_t), Row convert, Parallel& parallel)
      : k_(k),
        dot_(dot),
        a_(call.in(0), convert, sizeof(T), parallel),
        b_(call.in(1), convert, sizeof(T), parallel),
        writer_(call.out(), dtype_of<W>) {}

  void run(Parallel& parallel) const {
    const std::int64_t count = writer_.layout().count();
    if (k_ > segment) return long_ones(count, parallel);
    for_each_lines(parallel, count, count * k_, [&](std::int64_t begin, std::int64_t end) { short_ones(begin, end); });
  }

 private:
  static constexpr std::int64_t segment = 32 * block_elements;

  void short_ones(std::int64_t begin, std::int64_t end) const {
    Scratch left;
    Scratch right;
    std::array<W, block_elements> sums;
    for (std::int64_t first = begin; first < end; first += block_elements) {
      const std::int64_t n = std::min(block_elements, end - first);
      const std::int64_t at_once = std::max<std::int64_t>(1, block_elements / k_);
      for (std::int64_t i = 0; i < n; i += at_once) {
        W* const to = sums.data() + i;
        if (k_ > block_elements) {
          *to = sum((first + i) * k_, k_, left, right);
          continue;
        }
        const std::int64_t some = std::min(at_once, n - i);
        const T* const a = a_.template read<T>((first + i) * k_, some * k_, left);
        const T* const b = b_.template read<T>((first + i) * k_, some * k_, right);
        for (std::int64_t line = 0; line < some; ++line) {
          to[line] = dot_(a + line * k_, b + line * k_, static_cast<std::size_t>(k_));
        }
      }
      writer_.write(first, n, reinterpret_cast<const std::byte*>(sums.data()), left);
    }
  }

  // Cut into segments of one size, whatever the number of cores.
  void long_ones(std::int64_t count, Parallel& parallel) const {
    const std::int64_t segments = (k_ + segment - 1) / segment;
    std::vector<W> partial(static_cast<std::size_t>(count * segments));
    parallel.for_each_chunk(partial.size(), [&](std::size_t chunk) {
      Scratch left;
      Scratch right;
      const auto i = static_cast<std::int64_t>(chunk);
      const std::int64_t begin = i % segments * segment;
      partial[chunk] = sum(i / segments * k_ + begin, std::min(segment, k_ - begin), left, right);
    });
    Scratch scratch;
    for (std::int64_t i = 0; i < count; ++i) {
      W total{};
      for (std::int64_t s = 0; s < segments; ++s) total = added(total, partial[static_cast<std::size_t>(i * segments + s)]);
      writer_.write(i, 1, reinterpret_cast<const std::byte*>(&total), scratch);
    }
  }

  W sum(std::int64_t begin, std::int64_t n, Scratch& left, Scratch& right) const {
    W total{};
    for (std::int64_t at = begin; at < begin + n; at += block_elements) {
      const std::int64_t some = std::min(block_elements, begin + n - at);
      const T* const a = a_.template read<T>(at, some, left);
      total = added(total, dot_(a, b_.template read<T>(at, some, right), static_cast<std::size_t>(some)));
    }
    return total;
  }
  static W added(W a, W b) {
    if constexpr (std::is_integral_v<W>) {
      using U = std::make_unsigned_t<W>;
      return static_cast<W>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }

  std::int64_t k_;
  W (*dot_)(const T*, const T*, std::size_t);
  Factor a_;
  Factor b_;
  Writer writer_;
};

}  // namespace

void dot_products(const KernelCall& call, Parallel& parallel) {
  const Operand& a = call.in(0);
  const std::int64_t k = a.axes[a.rank - 1U].size;
  const DotRows& rows = dot_rows();
  const auto run = [&]<class T, class W>(W (*dot)(const T*, const T*, std::size_t)) {
    Dots<T, W>(call, k, dot, conversion(a.dtype, dtype_of<T>), parallel).run(parallel);
  };
  if (a.dtype == DType::bf16) return run(std::get<DotRow<bf16, float>>(rows));
  visit_dtype<working_dtypes>(working_dtype(a.dtype), [&]<class T>(T) { run(std::get<DotRow<T, T>>(rows)); });
}

}  // namespace tutti::kernels

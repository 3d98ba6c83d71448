#include <algorithm>
#include <cmath>
#include <vector>

#include "tutti/exec/attributes.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/pairwise.h"

// The order of additions depends on the shape and strides alone, never on the number of cores: the summed elements are cut
// into segments of a fixed size, each segment is summed pairwise, and the segments' sums are added pairwise.
namespace tutti::kernels {

namespace {

constexpr std::int64_t most_segments = 256;

std::int64_t magnitude(std::int64_t x) { return x < 0 ? -x : x; }

struct AxisList {
  std::array<Axis, most_axes> axes;
  std::size_t size = 0;

  void push_back(const Axis& axis) { axes[size++] = axis; }
  [[nodiscard]] bool empty() const { return size == 0; }
  [[nodiscard]] const Axis& back() const { return axes[size - 1]; }
  [[nodiscard]] auto begin() { return axes.begin(); }
  [[nodiscard]] auto end() { return axes.begin() + static_cast<std::ptrdiff_t>(size); }
  [[nodiscard]] auto begin() const { return axes.begin(); }
  [[nodiscard]] auto end() const { return axes.begin() + static_cast<std::ptrdiff_t>(size); }
};

// The input's axes, those of size 1 left out, sorted into kept (in order) and summed (far strides first, all forward).
struct Split {
  Operand operand;  // only dtype and data, which points at the first element once all summed axes run forward
  AxisList kept;
  AxisList summed;
  std::int64_t n_kept = 1;
  std::int64_t n_summed = 1;

  Split(const Operand& in, std::uint32_t mask) : operand(in) {
    for (std::size_t i = 0; i < in.rank; ++i) {
      Axis axis = in.axes[i];
      const bool is_summed = (mask >> i & 1U) != 0;
      (is_summed ? n_summed : n_kept) *= axis.size;
      if (axis.size == 1) continue;
      if (is_summed && axis.stride < 0 && axis.size > 0) {
        operand.data += (axis.size - 1) * axis.stride * static_cast<std::int64_t>(size_of(in.dtype));
        axis.stride = -axis.stride;
      }
      (is_summed ? summed : kept).push_back(axis);
    }
    std::sort(summed.begin(), summed.end(), [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  }

  // Elements next to each other in memory belong to different sums.
  [[nodiscard]] bool kept_axis_is_inner() const {
    if (kept.empty() || summed.empty()) return false;
    return magnitude(kept.back().stride) != 0 && magnitude(kept.back().stride) < summed.back().stride;
  }

  [[nodiscard]] Operand joined(const AxisList& first, const AxisList& then) const {
    Operand all = operand;
    all.rank = static_cast<std::uint8_t>(first.size + then.size);
    std::copy(then.begin(), then.end(), std::copy(first.begin(), first.end(), all.axes.begin()));
    return all;
  }
};

// Runs body(i) for i in 0 ... count, in the caller when there is little to do.
template <class Body>
void for_each(Parallel& parallel, std::int64_t count, std::int64_t elements, Body&& body) {
  if (elements < serial_elements || parallel.width() == 1 || count == 1) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
  const std::int64_t chunks = std::min(count, static_cast<std::int64_t>(parallel.width()) * 8);
  parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    const auto c = static_cast<std::int64_t>(chunk);
    for (std::int64_t i = count * c / chunks; i < count * (c + 1) / chunks; ++i) body(i);
  });
}

// Each sum's elements follow one another in the reader's order.
template <class T>
class InnerSum {
 public:
  InnerSum(const Reader& reader, std::int64_t length, std::int64_t count, T* results)
      : rows_(sum_rows<T>()), reader_(reader), length_(length), count_(count), results_(results) {
    const std::int64_t even = (length / most_segments + block_elements) / block_elements * block_elements;
    segment_ = std::max<std::int64_t>(32 * block_elements, even);
  }

  void run(Parallel& parallel) {
    if (length_ <= block_elements / 4) return short_sums(parallel);
    const std::int64_t segments = (length_ + segment_ - 1) / segment_;
    if (segments == 1) {
      for_each(parallel, count_, count_ * length_, [&](std::int64_t i) {
        Scratch scratch;
        results_[i] = sum_of(i * length_, length_, scratch);
      });
      return;
    }
    std::vector<T> partial(static_cast<std::size_t>(segments * count_));
    for_each(parallel, segments * count_, count_ * length_, [&](std::int64_t i) {
      Scratch scratch;
      const std::int64_t begin = i % segments * segment_;
      partial[static_cast<std::size_t>(i)] = sum_of(i / segments * length_ + begin, std::min(segment_, length_ - begin), scratch);
    });
    for (std::int64_t i = 0; i < count_; ++i) {
      PairwiseSum<T> total;
      for (std::int64_t s = 0; s < segments; ++s) total.push(partial[static_cast<std::size_t>(i * segments + s)]);
      results_[i] = total.total();
    }
  }

 private:
  T sum_of(std::int64_t begin, std::int64_t n, Scratch& scratch) const {
    PairwiseSum<T> total;
    if (reader_.layout().is_dense() && !reader_.converts()) {  // nothing to gather: longer pieces
      const auto* elements = reinterpret_cast<const T*>(reader_.layout().data()) + begin;
      for (std::int64_t done = 0; done < n; done += 4 * block_elements) {
        total.push(rows_.sum(elements + done, static_cast<std::size_t>(std::min(4 * block_elements, n - done))));
      }
      return total.total();
    }
    for (std::int64_t done = 0; done < n; done += block_elements) {
      const std::int64_t some = std::min(block_elements, n - done);
      const auto* elements = reinterpret_cast<const T*>(reader_.read(begin + done, some, scratch));
      total.push(rows_.sum(elements, static_cast<std::size_t>(some)));
    }
    return total.total();
  }

  // Several sums from one block.
  void short_sums(Parallel& parallel) {
    const std::int64_t per_block = block_elements / length_;
    const std::int64_t blocks = (count_ + per_block - 1) / per_block;
    for_each(parallel, blocks, count_ * length_, [&](std::int64_t block) {
      Scratch scratch;
      const std::int64_t first = block * per_block;
      const std::int64_t n = std::min(per_block, count_ - first);
      const auto* elements = reinterpret_cast<const T*>(reader_.read(first * length_, n * length_, scratch));
      rows_.sum_each(elements, static_cast<std::size_t>(length_), results_ + first, static_cast<std::size_t>(n));
    });
  }

  const SumRows<T>& rows_;
  const Reader& reader_;
  std::int64_t length_;
  std::int64_t count_;
  T* results_;
  std::int64_t segment_;
};

// The reader's order is rows of `width` elements, to be added row to row.
template <class T>
class OuterSum {
 public:
  OuterSum(const Reader& reader, std::int64_t rows, std::int64_t width, T* results)
      : rows_(sum_rows<T>()), reader_(reader), n_rows_(rows), width_(width), results_(results) {}

  void run(Parallel& parallel) {
    tile_ = std::min(width_, most_tile);
    const std::int64_t tiles = (width_ + tile_ - 1) / tile_;
    // Whole groups of eight rows, at least a few blocks of elements.
    const std::int64_t least = 16 * block_elements / tile_;
    const std::int64_t segment = (std::max(least, n_rows_ / most_segments) + 8) / 8 * 8;
    const std::int64_t segments = (n_rows_ + segment - 1) / segment;
    if (segments == 1) {
      for_each(parallel, tiles, n_rows_ * width_, [&](std::int64_t t) { add_up(t * tile_, 0, n_rows_, results_ + t * tile_); });
      return;
    }
    std::vector<T> partial(static_cast<std::size_t>(segments * width_));
    for_each(parallel, segments * tiles, n_rows_ * width_, [&](std::int64_t i) {
      const std::int64_t begin = i / tiles * segment;
      const std::int64_t column = i % tiles * tile_;
      add_up(column, begin, std::min(begin + segment, n_rows_), partial.data() + i / tiles * width_ + column);
    });
    for (std::int64_t column = 0; column < width_; column += tile_) {
      const std::int64_t n = std::min(tile_, width_ - column);
      Levels levels;
      for (std::int64_t s = 0; s < segments; ++s) levels.push(*this, partial.data() + s * width_ + column, n);
      levels.total(*this, results_ + column, n);
    }
  }

 private:
  static constexpr std::int64_t most_tile = 512;
  using Row = std::array<T, most_tile>;

  // PairwiseSum, with a row of sums at each level.
  struct Levels {
    std::uint64_t pushed = 0;
    std::array<Row, 32> rows;

    void push(const OuterSum& sum, const T* value, std::int64_t n) {
      alignas(64) Row carry;
      const T* current = value;
      std::size_t level = 0;
      for (std::uint64_t k = pushed++; (k & 1U) != 0; k >>= 1U, ++level) {
        const std::array<const T*, 2> pair{rows[level].data(), current};
        sum.rows_.add(pair.data(), 2, carry.data(), static_cast<std::size_t>(n));
        current = carry.data();
      }
      std::copy_n(current, n, rows[level].data());
    }
    void total(const OuterSum& sum, T* result, std::int64_t n) const {
      bool is_first = true;
      std::size_t level = 0;
      for (std::uint64_t k = pushed; k != 0; k >>= 1U, ++level) {
        if ((k & 1U) == 0) continue;
        if (is_first) {
          std::copy_n(rows[level].data(), n, result);
        } else {
          const std::array<const T*, 2> pair{rows[level].data(), result};
          sum.rows_.add(pair.data(), 2, result, static_cast<std::size_t>(n));
        }
        is_first = false;
      }
    }
  };

  void add_up(std::int64_t column, std::int64_t begin, std::int64_t end, T* result) const {
    const std::int64_t n = std::min(tile_, width_ - column);
    std::array<Scratch, 8> scratch;
    Levels levels;
    alignas(64) Row group;
    for (std::int64_t row = begin; row < end; row += 8) {
      std::array<const T*, 8> rows;
      const std::int64_t some = std::min<std::int64_t>(8, end - row);
      for (std::int64_t r = 0; r < some; ++r) {
        const auto i = static_cast<std::size_t>(r);
        rows[i] = reinterpret_cast<const T*>(reader_.read((row + r) * width_ + column, n, scratch[i]));
      }
      rows_.add(rows.data(), static_cast<std::size_t>(some), group.data(), static_cast<std::size_t>(n));
      levels.push(*this, group.data(), n);
    }
    levels.total(*this, result, n);
  }

  const SumRows<T>& rows_;
  const Reader& reader_;
  std::int64_t n_rows_;
  std::int64_t width_;
  std::int64_t tile_ = 0;
  T* results_;
};

// Narrow rows that follow each other without a gap are taken several at a time as one wide row, whose parts are then added.
template <class T>
void sum_rows_of(const Reader& reader, std::int64_t rows, std::int64_t width, T* results, Parallel& parallel) {
  std::int64_t fold = 1;
  while (fold * width * 2 <= 512 && fold * 16 <= rows) fold *= 2;
  if (fold == 1 || !reader.layout().is_dense()) return OuterSum<T>(reader, rows, width, results).run(parallel);
  std::array<T, 512> wide;
  OuterSum<T>(reader, rows / fold, width * fold, wide.data()).run(parallel);
  for (std::int64_t half = fold / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half * width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      wide[at] = wrapping_add(wide[at], wide[static_cast<std::size_t>(half * width + i)]);
    }
  }
  std::copy_n(wide.data(), width, results);
  Scratch scratch;
  for (std::int64_t row = rows / fold * fold; row < rows; ++row) {
    const auto* elements = reinterpret_cast<const T*>(reader.read(row * width, width, scratch));
    for (std::int64_t i = 0; i < width; ++i) results[i] = wrapping_add(results[i], elements[i]);
  }
}

template <class T>
void run(const KernelCall& call, Parallel& parallel) {
  const Split split(call.in(0), call.attributes->as<SumAttributes>().axes);
  const Operand& out = call.out();
  const Writer writer(out, dtype_of<T>);
  // Small results and those that must be converted or spread out go through room of our own.
  std::array<T, 64> few;
  std::vector<T> many;
  T* results = few.data();
  const bool direct = writer.layout().is_dense() && !writer.converts();
  if (direct) {
    results = out.as<T>();
  } else if (split.n_kept > static_cast<std::int64_t>(few.size())) {
    many.resize(static_cast<std::size_t>(split.n_kept));
    results = many.data();
  }
  if (split.n_kept == 0) return;
  if (split.n_summed == 0) {
    std::fill_n(results, split.n_kept, T{0});
  } else if (split.kept_axis_is_inner()) {
    const Reader reader(split.joined(split.summed, split.kept), dtype_of<T>);
    sum_rows_of<T>(reader, split.n_summed, split.n_kept, results, parallel);
  } else {
    const Reader reader(split.joined(split.kept, split.summed), dtype_of<T>);
    InnerSum<T>(reader, split.n_summed, split.n_kept, results).run(parallel);
  }
  if (direct) return;
  Scratch scratch;
  for (std::int64_t at = 0; at < split.n_kept; at += block_elements) {
    const std::int64_t n = std::min(block_elements, split.n_kept - at);
    writer.write(at, n, reinterpret_cast<const std::byte*>(results + at), scratch);
  }
}

}  // namespace

static void sum(const KernelCall& call, KernelContext& context) {
  switch (call.out().dtype) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: return run<float>(call, context.parallel);
    case DType::f64: return run<double>(call, context.parallel);
    default: return run<std::int64_t>(call, context.parallel);
  }
}

[[maybe_unused]] static const bool is_registered = register_host_kernel("Sum", sum);

}  // namespace tutti::kernels

// The driver of reductions over any axes, strides and dtype.
//
// The order of combination depends on the shape and strides alone, never on the number of cores: the reduced elements are cut
// into segments of a fixed size, each segment is reduced pairwise, and so are the segments' states.
#pragma once

#include <vector>

#include "tutti/exec/reduction_attributes.h"
#include "tutti/kernels/cpu/pairwise.h"
#include "tutti/kernels/cpu/reduction_axes.h"

namespace tutti::kernels {

template <class T>
struct Reduction {
  const ReductionRows<T>& rows;
  Row widen = nullptr;   // from the input's elements to T; null: they are
  Row narrow = nullptr;  // from T to the output's
  // Turns states of `length` elements each into results, in the first plane.
  void (*finish)(States<T> states, std::int64_t count, std::int64_t length, double parameter) = nullptr;
  double parameter = 0;
};

// Each reduction's elements follow one another in the reader's order.
template <class T>
class InnerReduction {
 public:
  InnerReduction(const Reader& reader, const Reduction<T>& op, std::int64_t length, std::int64_t count, States<T> results)
      : rows_(op.rows),
        parameter_(static_cast<T>(op.parameter)),
        reader_(reader),
        length_(length),
        count_(count),
        results_(results) {
    const std::int64_t even = (length / most_segments + block_elements) / block_elements * block_elements;
    segment_ = std::max<std::int64_t>(32 * block_elements, even);
  }

  void run(Parallel& parallel) {
    if (length_ <= block_elements / 4) return short_ones(parallel);
    const std::int64_t segments = (length_ + segment_ - 1) / segment_;
    if (segments == 1) {
      for_each(parallel, count_, count_ * length_, [&](std::int64_t i) {
        Scratch scratch;
        reduce(i * length_, length_, {results_.first + i, results_.step}, scratch);
      });
      return;
    }
    const auto all = static_cast<std::size_t>(segments * count_);
    std::vector<T> partial(all * rows_.planes);
    for_each(parallel, segments * count_, count_ * length_, [&](std::int64_t i) {
      Scratch scratch;
      const std::int64_t begin = i % segments * segment_;
      reduce(i / segments * length_ + begin, std::min(segment_, length_ - begin), {partial.data() + i, all}, scratch);
    });
    for (std::int64_t i = 0; i < count_; ++i) {
      Total total(rows_, 1);
      for (std::int64_t s = 0; s < segments; ++s) {
        total.push({partial.data() + i * segments + s, all}, static_cast<double>(std::min(segment_, length_ - s * segment_)));
      }
      total.total({results_.first + i, results_.step});
    }
  }

 private:
  using Total = Pairwise<T, 2, 64>;

  void reduce(std::int64_t begin, std::int64_t n, States<T> result, Scratch& scratch) const {
    Total total(rows_, 1);
    std::array<T, 2> state{};
    if (reader_.layout().is_dense() && !reader_.converts()) {  // nothing to gather: longer pieces
      const auto* elements = reinterpret_cast<const T*>(reader_.layout().data()) + begin;
      for (std::int64_t done = 0; done < n; done += 4 * block_elements) {
        const std::int64_t some = std::min(4 * block_elements, n - done);
        rows_.fold(elements + done, static_cast<std::size_t>(some), parameter_, state.data());
        total.push({state.data(), 1}, static_cast<double>(some));
      }
      return total.total(result);
    }
    for (std::int64_t done = 0; done < n; done += block_elements) {
      const std::int64_t some = std::min(block_elements, n - done);
      const auto* elements = reinterpret_cast<const T*>(reader_.read(begin + done, some, scratch));
      rows_.fold(elements, static_cast<std::size_t>(some), parameter_, state.data());
      total.push({state.data(), 1}, static_cast<double>(some));
    }
    total.total(result);
  }

  // Several from one block.
  void short_ones(Parallel& parallel) {
    const std::int64_t per_block = block_elements / length_;
    const std::int64_t blocks = (count_ + per_block - 1) / per_block;
    for_each(parallel, blocks, count_ * length_, [&](std::int64_t block) {
      Scratch scratch;
      const std::int64_t first = block * per_block;
      const std::int64_t n = std::min(per_block, count_ - first);
      const auto* elements = reinterpret_cast<const T*>(reader_.read(first * length_, n * length_, scratch));
      rows_.fold_each(elements, static_cast<std::size_t>(length_), parameter_, {results_.first + first, results_.step},
                      static_cast<std::size_t>(n));
    });
  }

  const ReductionRows<T>& rows_;
  T parameter_;
  const Reader& reader_;
  std::int64_t length_;
  std::int64_t count_;
  States<T> results_;
  std::int64_t segment_;
};

// The reader's order is rows of `width` elements, to be combined row with row.
template <class T>
class OuterReduction {
 public:
  static constexpr std::int64_t room = 512;

  OuterReduction(const Reader& reader, const Reduction<T>& op, std::int64_t rows, std::int64_t width, States<T> results)
      : rows_(op.rows),
        parameter_(static_cast<T>(op.parameter)),
        reader_(reader),
        n_rows_(rows),
        width_(width),
        tile_(std::min(width, room / static_cast<std::int64_t>(op.rows.planes))),
        results_(results) {}

  void run(Parallel& parallel) {
    const std::int64_t tiles = (width_ + tile_ - 1) / tile_;
    // Whole groups of eight rows, at least a few blocks of elements.
    const std::int64_t least = 16 * block_elements / tile_;
    const std::int64_t segment = (std::max(least, n_rows_ / most_segments) + 8) / 8 * 8;
    const std::int64_t segments = (n_rows_ + segment - 1) / segment;
    if (segments == 1) {
      for_each(parallel, tiles, n_rows_ * width_,
               [&](std::int64_t t) { reduce(t * tile_, 0, n_rows_, at(results_, t * tile_)); });
      return;
    }
    const auto all = static_cast<std::size_t>(segments * width_);
    std::vector<T> partial(all * rows_.planes);
    const States<T> partials{partial.data(), all};
    for_each(parallel, segments * tiles, n_rows_ * width_, [&](std::int64_t i) {
      const std::int64_t begin = i / tiles * segment;
      const std::int64_t column = i % tiles * tile_;
      reduce(column, begin, std::min(begin + segment, n_rows_), at(partials, i / tiles * width_ + column));
    });
    for (std::int64_t column = 0; column < width_; column += tile_) {
      Total total(rows_, static_cast<std::size_t>(std::min(tile_, width_ - column)));
      for (std::int64_t s = 0; s < segments; ++s) {
        const States<T> those = at(partials, s * width_ + column);
        total.push({those.first, those.step}, static_cast<double>(std::min(segment, n_rows_ - s * segment)));
      }
      total.total(at(results_, column));
    }
  }

 private:
  using Total = Pairwise<T, room, 32>;

  static States<T> at(States<T> states, std::int64_t i) { return {states.first + i, states.step}; }

  void reduce(std::int64_t column, std::int64_t begin, std::int64_t end, States<T> result) const {
    const std::int64_t n = std::min(tile_, width_ - column);
    const auto count = static_cast<std::size_t>(n);
    std::array<Scratch, 8> scratch;
    Total total(rows_, count);
    alignas(64) std::array<T, room> group;
    for (std::int64_t row = begin; row < end; row += 8) {
      std::array<const T*, 8> rows;
      const std::int64_t some = std::min<std::int64_t>(8, end - row);
      for (std::int64_t r = 0; r < some; ++r) {
        const auto i = static_cast<std::size_t>(r);
        rows[i] = reinterpret_cast<const T*>(reader_.read((row + r) * width_ + column, n, scratch[i]));
      }
      rows_.fold_rows(rows.data(), static_cast<std::size_t>(some), parameter_, {group.data(), count}, count);
      total.push({group.data(), count}, static_cast<double>(some));
    }
    total.total(result);
  }

  const ReductionRows<T>& rows_;
  T parameter_;
  const Reader& reader_;
  std::int64_t n_rows_;
  std::int64_t width_;
  std::int64_t tile_;
  States<T> results_;
};

// Narrow rows that follow each other without a gap are taken several at a time as one wide row, whose parts are then merged.
template <class T>
void reduce_rows(const Reader& reader, const Reduction<T>& op, std::int64_t rows, std::int64_t width, States<T> results,
                 Parallel& parallel) {
  using Outer = OuterReduction<T>;
  const ReductionRows<T>& loops = op.rows;
  const std::int64_t room = Outer::room / static_cast<std::int64_t>(loops.planes);
  std::int64_t fold = 1;
  while (fold * width * 2 <= room && fold * 16 <= rows) fold *= 2;
  if (fold == 1 || !reader.layout().is_dense()) return Outer(reader, op, rows, width, results).run(parallel);
  std::array<T, Outer::room> wide;
  const auto step = static_cast<std::size_t>(room);
  Outer(reader, op, rows / fold, width * fold, {wide.data(), step}).run(parallel);
  double weight = static_cast<double>(rows / fold);
  for (std::int64_t half = fold / 2; half > 0; half /= 2, weight *= 2) {
    loops.merge({wide.data(), step}, weight, {wide.data() + half * width, step}, weight, {wide.data(), step},
                static_cast<std::size_t>(half * width));
  }
  const auto count = static_cast<std::size_t>(width);
  Scratch scratch;
  std::array<T, Outer::room> last;
  for (std::int64_t row = rows / fold * fold; row < rows; ++row, ++weight) {
    const auto* elements = reinterpret_cast<const T*>(reader.read(row * width, width, scratch));
    loops.fold_rows(&elements, 1, static_cast<T>(op.parameter), {last.data(), step}, count);
    loops.merge({wide.data(), step}, weight, {last.data(), step}, 1, {wide.data(), step}, count);
  }
  for (std::size_t plane = 0; plane < loops.planes; ++plane) {
    std::copy_n(wide.data() + plane * step, width, results.first + plane * results.step);
  }
}

template <class T>
void reduce(const KernelCall& call, Parallel& parallel, const Reduction<T>& op) {
  const Split split(call.in(0), call.attributes->as<ReductionAttributes>().axes);
  if (split.n_kept == 0) return;
  const Operand& out = call.out();
  const Writer writer(out, op.narrow);
  // A few results and those that must be converted or spread out go through room of our own.
  std::array<T, 64> few;
  std::vector<T> many;
  States<T> results{few.data(), static_cast<std::size_t>(split.n_kept)};
  const bool direct = writer.layout().is_dense() && op.narrow == nullptr && op.rows.planes == 1;
  const std::size_t wanted = static_cast<std::size_t>(split.n_kept) * op.rows.planes;
  if (direct) {
    results.first = out.as<T>();
  } else if (wanted > few.size()) {
    many.resize(wanted);
    results.first = many.data();
  }
  if (split.n_reduced == 0) {
    for (std::size_t plane = 0; plane < op.rows.planes; ++plane)
      std::fill_n(results.first + plane * results.step, split.n_kept, op.rows.identity[plane]);
  } else if (split.kept_axis_is_inner()) {
    const Reader reader(split.joined(split.reduced, split.kept), op.widen, sizeof(T));
    reduce_rows<T>(reader, op, split.n_reduced, split.n_kept, results, parallel);
  } else {
    const Reader reader(split.joined(split.kept, split.reduced), op.widen, sizeof(T));
    InnerReduction<T>(reader, op, split.n_reduced, split.n_kept, results).run(parallel);
  }
  if (direct && op.finish == nullptr) return;
  const std::int64_t blocks = (split.n_kept + block_elements - 1) / block_elements;
  for_each(parallel, blocks, split.n_kept, [&](std::int64_t block) {
    Scratch scratch;
    const std::int64_t begin = block * block_elements;
    const std::int64_t n = std::min(block_elements, split.n_kept - begin);
    if (op.finish != nullptr) op.finish({results.first + begin, results.step}, n, split.n_reduced, op.parameter);
    if (!direct) writer.write(begin, n, reinterpret_cast<const std::byte*>(results.first + begin), scratch);
  });
}

}  // namespace tutti::kernels

// Reductions whose neighbours in memory belong to different results.
#pragma once

#include "tutti/kernels/cpu/inner_reduction.h"

namespace tutti::kernels {

// The reader's order is rows of `width` elements, to be combined row with row.
template <class T>
class OuterReduction {
 public:
  static constexpr std::int64_t room = 512;

  OuterReduction(const Reader& reader, const Reduction<T>& op, std::int64_t rows, std::int64_t width, States<T> results)
      : rows_(op.rows),
        parameter_(static_cast<T>(op.parameter)),
        takes_bf16_(op.takes_bf16),
        reader_(reader),
        n_rows_(rows),
        width_(width),
        tile_(std::min(width, room / static_cast<std::int64_t>(op.rows.planes))),
        results_(results) {}

  void run(Parallel& parallel) {
    const std::int64_t tiles = (width_ + tile_ - 1) / tile_;
    // Whole groups of eight rows, so many that putting the segments together does not show.
    const std::int64_t least = 64 * block_elements / tile_;
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
      if (takes_bf16_ && fold_halves(row, some, column, n, {group.data(), count})) {
        total.push({group.data(), count}, static_cast<double>(some));
        continue;
      }
      for (std::int64_t r = 0; r < some; ++r) {
        const auto i = static_cast<std::size_t>(r);
        rows[i] = reinterpret_cast<const T*>(reader_.read((row + r) * width_ + column, n, scratch[i]));
      }
      rows_.fold_rows(rows.data(), static_cast<std::size_t>(some), parameter_, {group.data(), count}, count);
      total.push({group.data(), count}, static_cast<double>(some));
    }
    total.total(result);
  }

  // False: some of the rows are not contiguous.
  bool fold_halves(std::int64_t first, std::int64_t some, std::int64_t column, std::int64_t n, States<T> states) const {
    std::array<const bf16*, 8> rows;
    for (std::int64_t r = 0; r < some; ++r) {
      const std::byte* row = reader_.layout().run_at((first + r) * width_ + column, n);
      if (row == nullptr) return false;
      rows[static_cast<std::size_t>(r)] = reinterpret_cast<const bf16*>(row);
    }
    rows_.fold_rows_bf16(rows.data(), static_cast<std::size_t>(some), states, static_cast<std::size_t>(n));
    return true;
  }

  const ReductionRows<T>& rows_;
  T parameter_;
  bool takes_bf16_;
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
  const std::int64_t rows_each = rows / fold;
  auto weight = static_cast<double>(rows_each);
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

}  // namespace tutti::kernels

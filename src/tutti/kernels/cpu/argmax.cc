#include <limits>

#include "tutti/kernels/cpu/reduction.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

// The place of the largest or smallest along one axis or, in row-major order, along all. Where elements of the axis are
// contiguous, blocks are reduced at full speed and only one that beats those before it is searched; otherwise neighbouring
// columns are walked down together.
namespace tutti::kernels {

namespace {

template <class T>
struct Best {
  T value;
  std::int64_t at;
};

template <class T>
class Search {
 public:
  Search(const Operand& in, std::int32_t asked, bool of_largest, std::int64_t* results)
      : largest_(of_largest),
        fold_((of_largest ? extremum_rows<T>().largest : extremum_rows<T>().smallest).fold),
        rows_(argument_rows<T>(of_largest)),
        convert_(conversion(in.dtype, dtype_of<T>)),
        results_(results) {
    const auto axis = static_cast<std::size_t>(asked);
    Operand kept_first = in;
    std::size_t n = 0;
    for (std::size_t i = 0; i < in.rank; ++i) {
      if (i == axis) continue;
      kept_first.axes[n++] = in.axes[i];
      count_ *= in.axes[i].size;
      if (in.axes[i].size > 1) inner_ = magnitude(in.axes[i].stride);
    }
    length_ = in.axes[axis].size;
    kept_first.axes[n] = in.axes[axis];
    Operand axis_first = in;
    axis_first.axes[0] = in.axes[axis];
    std::copy_n(kept_first.axes.begin(), n, axis_first.axes.begin() + 1);
    walks_columns_ = inner_ != 0 && inner_ < magnitude(in.axes[axis].stride) && length_ > 1;
    reader_ = Reader(walks_columns_ ? axis_first : kept_first, convert_, sizeof(T));
  }

  void run(Parallel& parallel) {
    if (count_ == 0) return;
    if (walks_columns_) return columns(parallel);
    const std::int64_t segments = (length_ + segment - 1) / segment;
    if (segments == 1) {
      // As many in one go as make a block's worth of work.
      const std::int64_t per_job = std::max<std::int64_t>(1, block_elements / length_);
      for_each(parallel, (count_ + per_job - 1) / per_job, count_ * length_, [&](std::int64_t job) {
        Scratch scratch;
        for (std::int64_t i = job * per_job; i < std::min((job + 1) * per_job, count_); ++i)
          results_[i] = best_of(i * length_, length_, scratch).at;
      });
      return;
    }
    std::vector<Best<T>> partial(static_cast<std::size_t>(segments * count_));
    for_each(parallel, segments * count_, count_ * length_, [&](std::int64_t i) {
      Scratch scratch;
      const std::int64_t begin = i % segments * segment;
      Best<T> best = best_of(i / segments * length_ + begin, std::min(segment, length_ - begin), scratch);
      best.at += begin;
      partial[static_cast<std::size_t>(i)] = best;
    });
    for (std::int64_t i = 0; i < count_; ++i) {
      Best<T> best = partial[static_cast<std::size_t>(i * segments)];
      for (std::int64_t s = 1; s < segments; ++s) keep_better(best, partial[static_cast<std::size_t>(i * segments + s)]);
      results_[i] = best.at;
    }
  }

 private:
  static constexpr std::int64_t segment = 32 * block_elements;
  static constexpr std::int64_t tile = 512;
  using Number = typename ArgumentRows<T>::Number;

  [[nodiscard]] bool beats(T x, T best) const { return (largest_ ? best < x : x < best) || (x != x && best == best); }
  void keep_better(Best<T>& best, const Best<T>& other) const {
    if (beats(other.value, best.value)) best = other;
  }

  Best<T> best_of(std::int64_t begin, std::int64_t n, Scratch& scratch) const {
    Best<T> best{};
    for (std::int64_t done = 0; done < n; done += block_elements) {
      const std::int64_t some = std::min(block_elements, n - done);
      const auto* elements = reinterpret_cast<const T*>(reader_.read(begin + done, some, scratch));
      T value;
      fold_(elements, static_cast<std::size_t>(some), T{}, &value);
      if (done > 0 && !beats(value, best.value)) continue;
      best = {value, done + static_cast<std::int64_t>(rows_.find(elements, static_cast<std::size_t>(some), value))};
    }
    return best;
  }

  void columns(Parallel& parallel) {
    const std::int64_t width = std::min(count_, tile);
    const std::int64_t tiles = (count_ + width - 1) / width;
    const std::int64_t rows_each = std::max<std::int64_t>(128, segment / width);
    const std::int64_t segments = (length_ + rows_each - 1) / rows_each;
    if (segments == 1) {
      for_each(parallel, tiles, count_ * length_, [&](std::int64_t t) {
        std::array<T, tile> values;
        best_of_columns(t * width, 0, length_, values.data(), results_ + t * width);
      });
      return;
    }
    const auto all = static_cast<std::size_t>(segments * count_);
    std::vector<T> values(all);
    std::vector<std::int64_t> places(all);
    for_each(parallel, segments * tiles, count_ * length_, [&](std::int64_t i) {
      const std::int64_t begin = i / tiles * rows_each;
      const std::int64_t at = i / tiles * count_ + i % tiles * width;
      best_of_columns(i % tiles * width, begin, std::min(begin + rows_each, length_), values.data() + at, places.data() + at);
    });
    for (std::int64_t column = 0; column < count_; ++column) {
      const auto from = [&](std::int64_t s) {
        const auto at = static_cast<std::size_t>(s * count_ + column);
        return Best<T>{values[at], places[at]};
      };
      Best<T> best = from(0);
      for (std::int64_t s = 1; s < segments; ++s) keep_better(best, from(s));
      results_[column] = best.at;
    }
  }

  // Rows are numbered from `begin`, which keeps a number no wider than an element.
  void best_of_columns(std::int64_t column, std::int64_t begin, std::int64_t end, T* values, std::int64_t* places) const {
    const std::int64_t n = std::min(tile, count_ - column);
    std::array<Scratch, 8> scratch;
    std::array<Number, tile> number{};
    for (std::int64_t row = begin; row < end; row += 8) {
      std::array<const T*, 8> rows;
      const std::int64_t some = std::min<std::int64_t>(8, end - row);
      for (std::int64_t r = 0; r < some; ++r) {
        const auto i = static_cast<std::size_t>(r);
        rows[i] = reinterpret_cast<const T*>(reader_.read((row + r) * count_ + column, n, scratch[i]));
      }
      if (row == begin) std::copy_n(rows[0], n, values);
      rows_.improve(rows.data(), static_cast<std::size_t>(some), static_cast<Number>(row - begin), values, number.data(),
                    static_cast<std::size_t>(n));
    }
    for (std::int64_t i = 0; i < n; ++i) places[i] = begin + number[static_cast<std::size_t>(i)];
  }

  bool largest_;
  void (*fold_)(const T*, std::size_t, T, T*);
  const ArgumentRows<T>& rows_;
  Row convert_;
  std::int64_t* results_;
  Reader reader_;
  std::int64_t count_ = 1;
  std::int64_t length_ = 1;
  std::int64_t inner_ = 0;
  bool walks_columns_ = false;
};

template <bool of_largest>
void argument(const KernelCall& call, KernelContext& context) {
  const Operand& in = call.in(0);
  const Writer writer(call.out());
  const std::int32_t axis = call.attributes->as<ArgumentAttributes>().axis;
  const bool direct = writer.layout().is_dense();
  std::vector<std::int64_t> room(direct ? 0 : static_cast<std::size_t>(call.out().count()));
  std::int64_t* const results = direct ? call.out().as<std::int64_t>() : room.data();
  visit_dtype<working_dtypes>(working_dtype(in.dtype),
                              [&]<class T>(T) { Search<T>(in, axis, of_largest, results).run(context.parallel); });
  if (!direct) writer.layout().scatter(0, call.out().count(), results);
}

[[maybe_unused]] const bool argmax_is_registered =
    register_host_kernel("ArgMax", argument<true>) && register_host_kernel("ArgMin", argument<false>);

}  // namespace

}  // namespace tutti::kernels

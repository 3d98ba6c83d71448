// Reductions whose elements are contiguous, or nearly so.
#pragma once

#include <vector>

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
  bool takes_bf16 = false;  // the input's elements are bf16, and the rows take them as they are
};

// Each reduction's elements follow one another in the reader's order.
template <class T>
class InnerReduction {
 public:
  InnerReduction(const Reader& reader, const Reduction<T>& op, std::int64_t length, std::int64_t count, States<T> results)
      : rows_(op.rows),
        parameter_(static_cast<T>(op.parameter)),
        takes_bf16_(op.takes_bf16),
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
    const auto* halves = takes_bf16_ ? reinterpret_cast<const bf16*>(reader_.layout().run_at(begin, n)) : nullptr;
    for (std::int64_t done = 0; halves != nullptr && done < n; done += 4 * block_elements) {
      const std::int64_t some = std::min(4 * block_elements, n - done);
      rows_.fold_bf16(halves + done, static_cast<std::size_t>(some), state.data());
      total.push({state.data(), 1}, static_cast<double>(some));
    }
    for (std::int64_t done = 0; halves == nullptr && done < n; done += block_elements) {
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
  bool takes_bf16_;
  const Reader& reader_;
  std::int64_t length_;
  std::int64_t count_;
  States<T> results_;
  std::int64_t segment_;
};

}  // namespace tutti::kernels

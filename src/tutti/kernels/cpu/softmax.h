// What softmax and its kin need of a line: its largest element and the sum of e^(x - largest).
#pragma once

#include <cmath>
#include <vector>

#include "tutti/kernels/cpu/line_rows.h"
#include "tutti/kernels/cpu/lines.h"

namespace tutti::kernels {

template <class W>
struct ExpSum {
  W largest;
  double sum;
};

// The line begins at element `begin`. A long one uses all cores.
template <class W>
ExpSum<W> exp_sum_of(const LineSource<W>& x, std::int64_t begin, std::int64_t length, Parallel& parallel) {
  const LineRows<W>& rows = line_rows<W>();
  const auto largest_of = [&](std::int64_t at, std::int64_t n) {
    LineRoom<W> room;
    W largest = -INFINITY;
    x.for_each_piece(at, n, room, [&](std::int64_t, const W* piece, std::size_t some) {
      const W here = rows.max(piece, some);
      largest = here > largest ? here : largest;
    });
    return largest;
  };
  const auto sum_of = [&](std::int64_t at, std::int64_t n, W largest) {
    LineRoom<W> room;
    double sum = 0;
    x.for_each_piece(at, n, room,
                     [&](std::int64_t, const W* piece, std::size_t some) { sum += rows.exp_sum(piece, largest, nullptr, some); });
    return sum;
  };
  if (length <= long_line) {
    const W largest = largest_of(begin, length);
    return {largest, sum_of(begin, length, largest)};
  }
  std::vector<W> most(segments_of(length));
  for_each_segment(parallel, length,
                   [&](std::size_t s, std::int64_t at, std::int64_t n) { most[s] = largest_of(begin + at, n); });
  W largest = -INFINITY;
  for (const W here : most) largest = here > largest ? here : largest;
  std::vector<double> sums(most.size());
  for_each_segment(parallel, length,
                   [&](std::size_t s, std::int64_t at, std::int64_t n) { sums[s] = sum_of(begin + at, n, largest); });
  double sum = 0;
  for (const double part : sums) sum += part;
  return {largest, sum};
}

}  // namespace tutti::kernels

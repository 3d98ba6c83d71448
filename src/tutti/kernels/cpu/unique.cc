// The distinct elements among sorted ones: where each run of equal elements begins.
#include <cstring>
#include <vector>

#include "tutti/exec/sort_key.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

constexpr std::int64_t range_elements = serial_elements / 2;

template <class U>
struct EqualRuns {
  const U* elements;
  std::int64_t n;
  SortOrder<U> order;

  explicit EqualRuns(const Operand& sorted)
      : elements(sorted.as<U>()), n(sorted.axes[0].size), order(sorted.dtype, false, Zeros::equal) {}
  [[nodiscard]] bool begins_at(std::int64_t i) const {
    if (i == 0) return true;
    return order.is_float ? !order.are_equal(elements[i - 1], elements[i]) : elements[i - 1] != elements[i];
  }
};

template <class Body>
void for_each_part(Parallel& parallel, std::int64_t n, const Body& body) {
  const auto parts = static_cast<std::size_t>((n + range_elements - 1) / range_elements);
  const auto run = [&](std::size_t part) {
    const std::int64_t begin = static_cast<std::int64_t>(part) * range_elements;
    body(part, begin, std::min(begin + range_elements, n));
  };
  if (parts == 1) {
    run(0);
  } else {
    parallel.for_each_chunk(parts, run);
  }
}

// How many runs begin in each part, and in all.
template <class U>
std::int64_t count_runs(const EqualRuns<U>& runs, Parallel& parallel, std::vector<std::int64_t>& counts) {
  counts.assign(static_cast<std::size_t>((runs.n + range_elements - 1) / range_elements), 0);
  for_each_part(parallel, runs.n, [&](std::size_t part, std::int64_t begin, std::int64_t end) {
    std::int64_t found = begin == 0 ? 1 : 0;
    for (std::int64_t i = std::max<std::int64_t>(begin, 1); i < end; ++i) found += runs.begins_at(i) ? 1 : 0;
    counts[part] = found;
  });
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  return total;
}

template <class U>
void find_unique(const KernelCall& call, const UniqueAttributes& wanted, Parallel& parallel) {
  const EqualRuns<U> runs(call.in(0));
  const std::int64_t* const order = call.inputs == 2 ? call.in(1).as<std::int64_t>() : nullptr;
  U* const values = call.out(0).as<U>();
  auto* const indices = call.out(1).as<std::int64_t>();
  auto* const inverse = call.out(2).as<std::int64_t>();
  auto* const counts = call.out(3).as<std::int64_t>();
  std::vector<std::int64_t> firsts;
  const std::int64_t total = count_runs(runs, parallel, firsts);
  std::int64_t before = 0;
  for (std::int64_t& first : firsts) {
    const std::int64_t here = first;
    first = before;
    before += here;
  }
  for_each_part(parallel, runs.n, [&](std::size_t part, std::int64_t begin, std::int64_t end) {
    const EqualRuns<U> those = runs;  // which nothing that is written can change
    std::int64_t run = firsts[part] - 1;
    for (std::int64_t i = begin; i < end; ++i) {
      if (those.begins_at(i)) {
        ++run;
        if (run < wanted.size) {
          values[run] = those.elements[i];
          if (wanted.wants_indices) indices[run] = order[i];
          if (wanted.wants_counts) counts[run] = i;  // where it begins, for now
        }
      }
      if (wanted.wants_inverse) inverse[order[i]] = run;
    }
  });
  if (wanted.wants_counts && wanted.size > 0) {
    // The run that was left out first ends the last one kept.
    std::int64_t end = runs.n;
    if (total > wanted.size) {
      end = counts[wanted.size - 1] + 1;
      while (!runs.begins_at(end)) ++end;
    }
    for (std::int64_t run = std::min(total, wanted.size); run-- > 0;) {
      const std::int64_t begin = counts[run];
      counts[run] = end - begin;
      end = begin;
    }
  }
  U fill{};
  std::memcpy(&fill, wanted.fill.data(), sizeof fill);
  for (std::int64_t run = total; run < wanted.size; ++run) {
    values[run] = fill;
    if (wanted.wants_indices) indices[run] = -1;
    if (wanted.wants_counts) counts[run] = 0;
  }
}

}  // namespace

static void count_unique(const KernelCall& call, KernelContext& context) {
  visit_sort_width(call.in(0).dtype, [&](auto width) {
    std::vector<std::int64_t> counts;
    *call.out().template as<std::int64_t>() = count_runs(EqualRuns<decltype(width)>(call.in(0)), context.parallel, counts);
  });
}

static void unique(const KernelCall& call, KernelContext& context) {
  const auto wanted = call.attributes->as<UniqueAttributes>();
  visit_sort_width(call.in(0).dtype, [&](auto width) { find_unique<decltype(width)>(call, wanted, context.parallel); });
}

[[maybe_unused]] static const bool unique_is_registered =
    register_host_kernel("UniqueCount", count_unique) && register_host_kernel("Unique", unique);

}  // namespace tutti::kernels

#include "tutti/base/error.h"
#include "tutti/exec/index_message.h"
#include "tutti/exec/sort_key.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

// The number of elements before the place of a key: halves the rest without a jump that depends on the data.
template <class At, class U>
std::int64_t place_of(const At& at, std::int64_t n, U key, bool right) {
  std::int64_t first = 0;
  while (n > 0) {
    const std::int64_t half = n / 2;
    const U middle = at(first + half);
    const bool goes_on = right ? !(key < middle) : middle < key;
    first = goes_on ? first + half + 1 : first;
    n = goes_on ? n - half - 1 : half;
  }
  return first;
}

}  // namespace

static void search_sorted(const KernelCall& call, KernelContext& context) {
  const bool right = call.attributes->as<SearchSortedAttributes>().right;
  const Operand& sorted = call.in(0);
  const Operand& values = call.in(1);
  const std::int64_t n = sorted.axes[0].size;
  auto* const out = call.out().as<std::int64_t>();
  const std::int64_t* const sorter = call.inputs == 3 ? call.in(2).as<std::int64_t>() : nullptr;
  visit_sort_width(sorted.dtype, [&](auto width) {
    using U = decltype(width);
    const SortOrder<U> order(sorted.dtype, false, Zeros::equal);
    const U* const among = sorted.as<U>();
    for_each_range(
        context.parallel, values.count(),
        [&](std::int64_t begin, std::int64_t end) {
          const auto at = [&](std::int64_t i) { return order.key(among[i]); };
          const auto at_sorted = [&](std::int64_t i) {
            if (sorter[i] < 0 || sorter[i] >= n) throw KernelFailed(index_out_of_range(sorter[i], 0, n), call.site);
            return order.key(among[sorter[i]]);
          };
          for (std::int64_t i = begin; i < end; ++i) {
            const U key = order.key(values.as<U>()[i]);
            out[i] = sorter == nullptr ? place_of(at, n, key, right) : place_of(at_sorted, n, key, right);
          }
        },
        serial_elements / 16);
  });
}

[[maybe_unused]] static const bool is_registered = register_host_kernel("SearchSorted", search_sorted);

}  // namespace tutti::kernels

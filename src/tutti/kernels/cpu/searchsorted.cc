#include <algorithm>
#include <array>

#include "tutti/base/error.h"
#include "tutti/exec/index_message.h"
#include "tutti/exec/sort_key.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

constexpr std::int64_t keys_at_once = 8;  // so that they wait for memory together

constexpr std::int64_t few_elements = 4096;  // whose keys are made once, if more than a few are looked for

// How many elements have a smaller key than each. Halves what is left without a jump that depends on the data.
template <class U, class At>
void find_places(const At& at, std::int64_t n, const std::array<U, keys_at_once>& keys,
                 std::array<std::int64_t, keys_at_once>& places) {
  places.fill(0);
  if (n == 0) return;
  for (std::int64_t left = n; left > 1; left -= left / 2) {
    const std::int64_t half = left / 2;
    for (std::size_t i = 0; i < keys_at_once; ++i) places[i] += at(places[i] + half - 1) < keys[i] ? half : 0;
  }
  for (std::size_t i = 0; i < keys_at_once; ++i) places[i] += at(places[i]) < keys[i] ? 1 : 0;
}

// To the right of a key is to the left of the next one; after the last there is nothing.
template <class U, class At>
void search(const At& at, std::int64_t n, bool right, const SortOrder<U>& order, const U* values, std::int64_t begin,
            std::int64_t end, std::int64_t* out) {
  std::array<U, keys_at_once> keys{};
  std::array<std::int64_t, keys_at_once> places;
  for (std::int64_t i = begin; i < end; i += keys_at_once) {
    const std::int64_t count = std::min(keys_at_once, end - i);
    for (std::int64_t k = 0; k < count; ++k)
      keys[static_cast<std::size_t>(k)] = static_cast<U>(order.key(values[i + k]) + (right ? 1 : 0));
    find_places(at, n, keys, places);
    for (std::int64_t k = 0; k < count; ++k) {
      const auto at_k = static_cast<std::size_t>(k);
      out[i + k] = right && keys[at_k] == 0 ? n : places[at_k];
    }
  }
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
          if (sorter == nullptr && n <= few_elements && n / 8 <= end - begin) {
            std::array<U, few_elements> keys;
            for (std::int64_t i = 0; i < n; ++i) keys[static_cast<std::size_t>(i)] = at(i);
            const auto at_key = [&keys](std::int64_t i) { return keys[static_cast<std::size_t>(i)]; };
            return search(at_key, n, right, order, values.as<U>(), begin, end, out);
          }
          const auto at_sorted = [&](std::int64_t i) {
            if (sorter[i] < 0 || sorter[i] >= n) throw KernelFailed(index_out_of_range(sorter[i], 0, n), call.site);
            return order.key(among[sorter[i]]);
          };
          if (sorter == nullptr) {
            search(at, n, right, order, values.as<U>(), begin, end, out);
          } else {
            search(at_sorted, n, right, order, values.as<U>(), begin, end, out);
          }
        },
        serial_elements / 16);
  });
}

[[maybe_unused]] static const bool searchsorted_is_registered = register_host_kernel("SearchSorted", search_sorted);

}  // namespace tutti::kernels

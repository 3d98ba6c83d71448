#include <atomic>
#include <bit>
#include <limits>
#include <optional>

#include "tutti/exec/sort_key.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/kernels/cpu/line_ranges.h"
#include "tutti/kernels/cpu/radix_sort.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/spread_order.h"

namespace tutti::kernels {

namespace {

constexpr std::int64_t serial_sorts = 4096;  // elements; sorting is worth a core sooner than copying
constexpr std::int64_t few_items = 256;

struct SortedLines {
  std::int64_t count;
  std::int64_t length;
  std::int64_t keep;
};

SortedLines lines_of(const KernelCall& call, const SortAttributes& attributes) {
  const Operand& x = call.in(0);
  SortedLines lines{1, x.axes[x.rank - 1U].size, attributes.keep};
  for (std::size_t i = 0; i + 1 < x.rank; ++i) lines.count *= x.axes[i].size;
  return lines;
}

// Room for two lots of items, without the heap for few.
template <class Item>
class Items {
 public:
  explicit Items(std::int64_t n) {
    if (n > few_items) heap_ = std::make_unique_for_overwrite<Item[]>(static_cast<std::size_t>(2 * n));
    first_ = heap_ ? heap_.get() : few_.data();
    second_ = heap_ ? first_ + n : first_;
  }
  [[nodiscard]] Item* first() const { return first_; }
  [[nodiscard]] Item* second() const { return second_; }

 private:
  std::array<Item, few_items> few_;
  std::unique_ptr<Item[]> heap_;
  Item* first_;
  Item* second_;
};

// Calls fill(begin, end) over the elements of a line, on several cores where it is long.
template <class Fill>
void over_line(Parallel& parallel, std::int64_t n, const Fill& fill) {
  for_each_range(parallel, n, fill);
}

template <class U>
void sort_values(const Operand& x, const Operand& out, const SortedLines& lines, const SortAttributes& attributes,
                 Parallel& parallel) {
  using Key = std::conditional_t<sizeof(U) == 8, std::uint64_t, std::uint32_t>;
  using Item = KeyAlone<Key>;
  const SortOrder<U> order(x.dtype, attributes.is_descending, Zeros::by_sign);
  const std::int64_t n = lines.length;
  for_each_line_range(parallel, lines.count, n, serial_sorts, [&](std::int64_t begin, std::int64_t end, Parallel& inside) {
    const Items<Item> items(n);
    for (std::int64_t line = begin; line < end; ++line) {
      const U* const from = x.as<U>() + line * n;
      U* const to = out.as<U>() + line * n;
      over_line(inside, n, [&](std::int64_t i, std::int64_t last) {
        for (; i < last; ++i) items.first()[i] = {order.key(from[i])};
      });
      const Item* const sorted = sort_items(items.first(), items.second(), n, inside);
      over_line(inside, n, [&](std::int64_t i, std::int64_t last) {
        for (; i < last; ++i) to[i] = order.bits(static_cast<U>(sorted[i].key));
      });
    }
  });
}

template <class U, class Item>
Item* sort_line(const U* from, std::int64_t n, const SortOrder<U>& order, const Items<Item>& items, Parallel& parallel) {
  over_line(parallel, n, [&](std::int64_t i, std::int64_t last) {
    for (; i < last; ++i) items.first()[i] = Item::make(order.key(from[i]), i);
  });
  return sort_items(items.first(), items.second(), n, parallel);
}

// Keys of 64 bits by the highest 32 of the bits that differ, then the few that agree in those by all. Null: they are not few.
// `is_spread`: the keys are random in all their bits.
PackedItem* sort_line_by_window(const std::uint64_t* from, std::int64_t n, const SortOrder<std::uint64_t>& order, bool is_spread,
                                const Items<PackedItem>& items, Parallel& parallel) {
  constexpr std::int64_t longest_run = 32;
  constexpr std::size_t most_parts = 16;
  PackedItem* sorted = items.first();
  if (is_spread && n <= most_spread_keys) {
    order_spread_keys(
        n, [&](std::int64_t i) { return order.key(from[i]); }, sorted);
  } else {
    std::uint64_t differing = is_spread ? ~std::uint64_t{0} : 0;
    const std::uint64_t any = order.key(from[0]);
    for (std::int64_t i = 1; i < n && !is_spread; ++i) differing |= order.key(from[i]) ^ any;
    const int low = std::max(64 - std::countl_zero(differing) - 32, 0);
    over_line(parallel, n, [&](std::int64_t i, std::int64_t last) {
      for (; i < last; ++i) items.first()[i] = PackedItem::make(order.key(from[i]) >> low & 0xffffffffU, i);
    });
    sorted = sort_items(items.first(), items.second(), n, parallel);
    if ((differing & ((std::uint64_t{1} << low) - 1)) == 0) return sorted;
  }
  const auto agree = [sorted](std::int64_t i) { return sorted[i - 1].word >> 32U == sorted[i].word >> 32U; };
  const auto by_all = [&](const PackedItem& a, const PackedItem& b) {
    const std::uint64_t first = order.key(from[a.index()]);
    const std::uint64_t second = order.key(from[b.index()]);
    return first != second ? first < second : a.index() < b.index();
  };
  // Cut between runs, before anyone moves an item.
  const auto parts = static_cast<std::size_t>(n < serial_elements ? 1 : std::min<std::size_t>(parallel.width(), most_parts));
  std::array<std::int64_t, most_parts + 1> cuts{};
  for (std::size_t part = 1; part <= parts; ++part) {
    std::int64_t& cut = cuts[part] = n * static_cast<std::int64_t>(part) / static_cast<std::int64_t>(parts);
    while (cut < n && agree(cut)) ++cut;
  }
  std::atomic<bool> are_few{true};
  const auto sort_runs = [&](std::size_t part) {
    for (std::int64_t begin = cuts[part]; begin < cuts[part + 1] && are_few.load(std::memory_order_relaxed);) {
      std::int64_t end = begin + 1;
      while (end < cuts[part + 1] && agree(end)) ++end;
      if (end - begin > longest_run) {
        are_few.store(false, std::memory_order_relaxed);
      } else if (end - begin > 1) {
        std::sort(sorted + begin, sorted + end, by_all);
      }
      begin = end;
    }
  };
  if (parts == 1) {
    sort_runs(0);
  } else {
    parallel.for_each_chunk(parts, sort_runs);
  }
  return are_few.load(std::memory_order_relaxed) ? sorted : nullptr;
}

template <class U, class Item>
void write_line(const Item* sorted, const U* from, U* values, std::int64_t* indices, std::int64_t n, Parallel& parallel) {
  over_line(parallel, n, [&](std::int64_t first, std::int64_t last) {
    if (values != nullptr) {
      for (std::int64_t i = first; i < last; ++i) values[i] = from[sorted[i].index()];
    }
    if (indices != nullptr) {
      for (std::int64_t i = first; i < last; ++i) indices[i] = sorted[i].index();
    }
  });
}

template <class U>
void sort_with_indices(const Operand& x, U* values, std::int64_t* indices, const SortedLines& lines,
                       const SortAttributes& attributes, Parallel& parallel) {
  const SortOrder<U> order(x.dtype, attributes.is_descending, Zeros::equal);
  const std::int64_t n = lines.length;
  const bool is_numbered_by_32_bits = n <= std::int64_t{std::numeric_limits<std::uint32_t>::max()};
  for_each_line_range(parallel, lines.count, n, serial_sorts, [&](std::int64_t begin, std::int64_t end, Parallel& inside) {
    const bool packs = is_numbered_by_32_bits && (sizeof(U) <= 4 || n > few_items);
    const Items<PackedItem> packed(packs ? n : 0);
    std::optional<Items<WideItem>> wide;
    for (std::int64_t line = begin; line < end; ++line) {
      const U* const from = x.as<U>() + line * n;
      U* const to = values == nullptr ? nullptr : values + line * n;
      std::int64_t* const numbers = indices == nullptr ? nullptr : indices + line * n;
      const PackedItem* sorted = nullptr;
      if constexpr (sizeof(U) == 8) {
        if (packs) sorted = sort_line_by_window(from, n, order, attributes.is_spread, packed, inside);
      } else {
        if (packs) sorted = sort_line(from, n, order, packed, inside);
      }
      if (sorted != nullptr) {
        write_line(sorted, from, to, numbers, n, inside);
        continue;
      }
      if (!wide) wide.emplace(n);
      write_line(sort_line(from, n, order, *wide, inside), from, to, numbers, n, inside);
    }
  });
}

}  // namespace

static void sort(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<SortAttributes>();
  const Operand& x = call.in(0);
  const SortedLines lines = lines_of(call, attributes);
  if (lines.count == 0 || lines.length == 0) return;
  visit_sort_width(x.dtype, [&](auto width) {
    using U = decltype(width);
    if (!attributes.wants_indices) return sort_values<U>(x, call.out(), lines, attributes, context.parallel);
    U* const values = attributes.wants_values ? call.out().template as<U>() : nullptr;
    auto* const indices = call.out(attributes.wants_values ? 1 : 0).template as<std::int64_t>();
    sort_with_indices<U>(x, values, indices, lines, attributes, context.parallel);
  });
}

[[maybe_unused]] static const bool sort_is_registered = register_host_kernel("Sort", sort);

}  // namespace tutti::kernels

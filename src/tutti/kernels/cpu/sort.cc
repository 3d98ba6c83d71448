#include <limits>

#include "tutti/exec/sort_key.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/kernels/cpu/line_ranges.h"
#include "tutti/kernels/cpu/radix_sort.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

constexpr std::int64_t serial_sorts = 4096;  // elements; sorting is worth a core sooner than copying
constexpr std::int64_t few_items = 256;

struct Lines {
  std::int64_t count;
  std::int64_t length;
  std::int64_t keep;
};

Lines lines_of(const KernelCall& call, const SortAttributes& attributes) {
  const Operand& x = call.in(0);
  Lines lines{1, x.axes[x.rank - 1U].size, attributes.keep};
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
void sort_values(const Operand& x, const Operand& out, const Lines& lines, const SortAttributes& attributes, Parallel& parallel) {
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
      const Item* const sorted = sort_items(items.first(), items.second(), n, 8 * sizeof(U), inside);
      over_line(inside, n, [&](std::int64_t i, std::int64_t last) {
        for (; i < last; ++i) to[i] = order.bits(static_cast<U>(sorted[i].key));
      });
    }
  });
}

template <class U, class Item>
void sort_with_indices(const Operand& x, U* values, std::int64_t* indices, const Lines& lines, const SortAttributes& attributes,
                       Parallel& parallel) {
  const SortOrder<U> order(x.dtype, attributes.is_descending, Zeros::equal);
  const std::int64_t n = lines.length;
  for_each_line_range(parallel, lines.count, n, serial_sorts, [&](std::int64_t begin, std::int64_t end, Parallel& inside) {
    const Items<Item> items(n);
    for (std::int64_t line = begin; line < end; ++line) {
      const U* const from = x.as<U>() + line * n;
      over_line(inside, n, [&](std::int64_t i, std::int64_t last) {
        for (; i < last; ++i) items.first()[i] = Item::make(order.key(from[i]), i);
      });
      const Item* const sorted = sort_items(items.first(), items.second(), n, 8 * sizeof(U), inside);
      over_line(inside, n, [&](std::int64_t first, std::int64_t last) {
        if (values != nullptr) {
          for (std::int64_t i = first; i < last; ++i) values[line * n + i] = from[sorted[i].index()];
        }
        if (indices != nullptr) {
          for (std::int64_t i = first; i < last; ++i) indices[line * n + i] = sorted[i].index();
        }
      });
    }
  });
}

}  // namespace

static void sort(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<SortAttributes>();
  const Operand& x = call.in(0);
  const Lines lines = lines_of(call, attributes);
  if (lines.count == 0 || lines.length == 0) return;
  visit_sort_width(x.dtype, [&](auto width) {
    using U = decltype(width);
    if (!attributes.wants_indices) return sort_values<U>(x, call.out(), lines, attributes, context.parallel);
    U* const values = attributes.wants_values ? call.out().template as<U>() : nullptr;
    auto* const indices = call.out(attributes.wants_values ? 1 : 0).template as<std::int64_t>();
    if (sizeof(U) <= 4 && lines.length <= std::int64_t{std::numeric_limits<std::uint32_t>::max()}) {
      sort_with_indices<U, PackedItem>(x, values, indices, lines, attributes, context.parallel);
    } else {
      sort_with_indices<U, WideItem>(x, values, indices, lines, attributes, context.parallel);
    }
  });
}

[[maybe_unused]] static const bool is_registered = register_host_kernel("Sort", sort);

}  // namespace tutti::kernels

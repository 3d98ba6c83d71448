#include <limits>
#include <vector>

#include "tutti/exec/sort_key.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/kernels/cpu/line_ranges.h"
#include "tutti/kernels/cpu/radix_sort.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

// The k least items seen so far, among at most twice as many or some more. Items are all different, so that what is kept does
// not depend on how a line is cut.
template <class Item>
class Least {
 public:
  explicit Least(std::int64_t k, std::int64_t n) : k_(static_cast<std::size_t>(k)) {
    items_.reserve(std::min(static_cast<std::size_t>(n), std::max<std::size_t>(2 * k_, 512)));
  }
  void clear() {
    items_.clear();
    is_bounded_ = false;
  }
  void add(const Item& item) {
    if (is_bounded_ && !(item < bound_)) return;
    if (items_.size() == items_.capacity()) {
      drop_the_rest();
      bound_ = *std::max_element(items_.begin(), items_.end());
      is_bounded_ = true;
      if (!(item < bound_)) return;
    }
    items_.push_back(item);
  }
  void drop_the_rest() {
    if (items_.size() <= k_) return;
    std::nth_element(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(k_), items_.end());
    items_.resize(k_);
  }
  [[nodiscard]] std::vector<Item>& items() { return items_; }

 private:
  std::size_t k_;
  std::vector<Item> items_;
  Item bound_{};
  bool is_bounded_ = false;
};

template <class U, class Item>
void add_elements(Least<Item>& least, const U* from, std::int64_t begin, std::int64_t end, const SortOrder<U>& order) {
  for (std::int64_t i = begin; i < end; ++i) least.add(Item::make(order.key(from[i]), i));
}

template <class U, class Item>
void write_line(Least<Item>& least, const U* from, U* values, std::int64_t* indices) {
  least.drop_the_rest();
  std::sort(least.items().begin(), least.items().end());
  for (const Item& item : least.items()) {
    *values++ = from[item.index()];
    *indices++ = item.index();
  }
}

// One line on several cores: the best of every part, then the best of those.
template <class U, class Item>
void long_line(const U* from, U* values, std::int64_t* indices, std::int64_t n, std::int64_t k, const SortOrder<U>& order,
               Parallel& parallel) {
  const auto parts = static_cast<std::int64_t>(parallel.width());
  std::vector<Least<Item>> found;
  for (std::int64_t i = 0; i < parts; ++i) found.emplace_back(k, n / parts + 1);
  parallel.for_each_chunk(static_cast<std::size_t>(parts), [&](std::size_t part) {
    const auto i = static_cast<std::int64_t>(part);
    add_elements(found[part], from, n * i / parts, n * (i + 1) / parts, order);
    found[part].drop_the_rest();
  });
  Least<Item> all(k, k * parts);
  for (Least<Item>& part : found) {
    for (const Item& item : part.items()) all.add(item);
  }
  write_line(all, from, values, indices);
}

template <class U, class Item>
void find_best(const KernelCall& call, const SortAttributes& attributes, std::int64_t count, KernelContext& context) {
  const Operand& x = call.in(0);
  const std::int64_t n = x.axes[x.rank - 1U].size;
  const std::int64_t k = attributes.keep;
  const SortOrder<U> order(x.dtype, attributes.is_descending, Zeros::equal);
  U* const values = call.out(0).as<U>();
  auto* const indices = call.out(1).as<std::int64_t>();
  constexpr std::int64_t serial = 16384;
  for_each_line_range(context.parallel, count, n, serial, [&](std::int64_t begin, std::int64_t end, Parallel& inside) {
    Least<Item> least(k, n);
    for (std::int64_t line = begin; line < end; ++line) {
      const U* const from = x.as<U>() + line * n;
      if (inside.width() > 1 && n >= serial) {
        long_line<U, Item>(from, values + line * k, indices + line * k, n, k, order, inside);
        continue;
      }
      least.clear();
      add_elements(least, from, 0, n, order);
      write_line(least, from, values + line * k, indices + line * k);
    }
  });
}

}  // namespace

static void topk(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<SortAttributes>();
  const Operand& x = call.in(0);
  std::int64_t count = 1;
  for (std::size_t i = 0; i + 1 < x.rank; ++i) count *= x.axes[i].size;
  if (attributes.keep == 0 || count == 0) return;
  visit_sort_width(x.dtype, [&](auto width) {
    using U = decltype(width);
    if (sizeof(U) <= 4 && x.axes[x.rank - 1U].size <= std::int64_t{std::numeric_limits<std::uint32_t>::max()}) {
      find_best<U, PackedItem>(call, attributes, count, context);
    } else {
      find_best<U, WideItem>(call, attributes, count, context);
    }
  });
}

[[maybe_unused]] static const bool is_registered = register_host_kernel("TopKV2", topk);

}  // namespace tutti::kernels

#include <bit>
#include <limits>
#include <vector>

#include "tutti/exec/sort_key.h"
#include "tutti/exec/sorting_attributes.h"
#include "tutti/kernels/cpu/line_ranges.h"
#include "tutti/kernels/cpu/radix_sort.h"
#include "tutti/kernels/cpu/reduction_rows.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// The k least items seen so far, among at most twice as many or some more. Items are all different, so that what is kept does
// not depend on how a line is cut.
template <class Item>
class Least {
 public:
  explicit Least(std::int64_t k, std::int64_t n) : k_(static_cast<std::size_t>(k)) {
    items_.reserve(std::min(static_cast<std::size_t>(n), std::max<std::size_t>(4 * k_, 64)));
  }
  void clear() {
    items_.clear();
    is_bounded_ = false;
  }
  [[nodiscard]] bool is_bounded() const { return is_bounded_; }
  // False: neither this nor anything behind it.
  [[nodiscard]] bool takes(const Item& item) const { return !is_bounded_ || item < bound_; }
  void add(const Item& item) {
    if (!takes(item)) return;
    if (k_ <= few) return insert(item);
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
  static constexpr std::size_t few = 16;

  // Few are kept in order, so that every one of them lowers the bound for the next.
  void insert(const Item& item) {
    if (items_.size() < k_) items_.push_back(item);
    std::size_t i = items_.size() - 1;
    for (; i > 0 && item < items_[i - 1]; --i) items_[i] = items_[i - 1];
    items_[i] = item;
    is_bounded_ = items_.size() == k_;
    bound_ = items_.back();
  }

  std::size_t k_;
  std::vector<Item> items_;
  Item bound_{};
  bool is_bounded_ = false;
};

// The element that comes first among some of them, or a NaN if there is one.
template <class U>
using FirstOf = U (*)(const U* elements, std::size_t count);

template <class T, class U>
FirstOf<U> first_by(bool is_descending) {
  const auto first_of = []<bool of_largest>(std::bool_constant<of_largest>) -> FirstOf<U> {
    return [](const U* elements, std::size_t count) {
      const ReductionRows<T>& rows = of_largest ? extremum_rows<T>().largest : extremum_rows<T>().smallest;
      T first{};
      rows.fold(reinterpret_cast<const T*>(elements), count, T{}, &first);
      return std::bit_cast<U>(first);
    };
  };
  return is_descending ? first_of(std::true_type{}) : first_of(std::false_type{});
}

// Null where there are no such loops.
template <class U>
FirstOf<U> first_of(DType dtype, bool is_descending) {
  if constexpr (sizeof(U) >= 4) {
    constexpr DTypes of_this_size = sizeof(U) == 8 ? DTypes{DType::i64, DType::f64} : DTypes{DType::i32, DType::f32};
    return visit_dtype<of_this_size>(dtype, [&]<class T>(T) { return first_by<T, U>(is_descending); });
  } else {
    return nullptr;
  }
}

template <class U>
struct Ranking {
  SortOrder<U> order;
  FirstOf<U> first_of;
};

// Once there are k, most elements come too late: some at a time are passed over by the first of them.
template <class U, class Item>
void add_elements(Least<Item>& least, const U* from, std::int64_t begin, std::int64_t end, const Ranking<U>& ranking) {
  constexpr std::int64_t at_once = 64;
  const SortOrder<U> order = ranking.order;
  for (std::int64_t i = begin; i < end; i += at_once) {
    const std::int64_t last = std::min(i + at_once, end);
    if (least.is_bounded() && ranking.first_of != nullptr) {
      const U first = ranking.first_of(from + i, static_cast<std::size_t>(last - i));
      if (order.are_equal(first, first) && !least.takes(Item::make(order.key(first), i))) continue;
    }
    for (std::int64_t k = i; k < last; ++k) least.add(Item::make(order.key(from[k]), k));
  }
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
void rank_long_line(const U* from, U* values, std::int64_t* indices, std::int64_t n, std::int64_t k, const Ranking<U>& ranking,
                    Parallel& parallel) {
  const auto parts = static_cast<std::int64_t>(parallel.width());
  std::vector<Least<Item>> found;
  for (std::int64_t i = 0; i < parts; ++i) found.emplace_back(k, n / parts + 1);
  parallel.for_each_chunk(static_cast<std::size_t>(parts), [&](std::size_t part) {
    const auto i = static_cast<std::int64_t>(part);
    add_elements(found[part], from, n * i / parts, n * (i + 1) / parts, ranking);
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
  const Ranking<U> ranking{{x.dtype, attributes.is_descending, Zeros::equal}, first_of<U>(x.dtype, attributes.is_descending)};
  U* const values = call.out(0).as<U>();
  auto* const indices = call.out(1).as<std::int64_t>();
  constexpr std::int64_t serial = 16384;
  for_each_line_range(context.parallel, count, n, serial, [&](std::int64_t begin, std::int64_t end, Parallel& inside) {
    Least<Item> least(k, n);
    for (std::int64_t line = begin; line < end; ++line) {
      const U* const from = x.as<U>() + line * n;
      if (inside.width() > 1 && n >= serial) {
        rank_long_line<U, Item>(from, values + line * k, indices + line * k, n, k, ranking, inside);
        continue;
      }
      least.clear();
      add_elements(least, from, 0, n, ranking);
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

[[maybe_unused]] static const bool topk_is_registered = register_host_kernel("TopKV2", topk);

}  // namespace tutti::kernels

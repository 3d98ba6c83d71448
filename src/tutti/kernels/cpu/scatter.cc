#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "tutti/exec/scatter_attributes.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/index_places.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/row_order.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// The smaller, or the larger. NaN wins, and -0 is less than 0, so that the order of the arguments does not matter.
template <class T>
T least(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return b < a ? b : a;
  } else {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
    return b < a || (b == a && std::signbit(b)) ? b : a;
  }
}
template <class T>
T greatest(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a < b ? b : a;
  } else {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
    return a < b || (a == b && std::signbit(a)) ? b : a;
  }
}

template <class T>
inline constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

// What an element is worked on as. Integers wrap.
template <class T>
auto widened(T x) {
  if constexpr (is_half<T>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}

template <ScatterMode mode, class W>
W combined(W a, W b) {
  if constexpr (mode == ScatterMode::set) return b;
  if constexpr (mode == ScatterMode::minimum) return least(a, b);
  if constexpr (mode == ScatterMode::maximum) return greatest(a, b);
  if constexpr (std::is_same_v<W, bool>) {
    return mode == ScatterMode::add ? a || b : a && b;
  } else if constexpr (std::is_integral_v<W>) {
    const auto left = static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<W>>(a));
    const auto right = static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<W>>(b));
    return static_cast<W>(mode == ScatterMode::add ? left + right : left * right);
  } else {
    return mode == ScatterMode::add ? a + b : a * b;
  }
}

// Places from `low` to before `high`, in elements of the region, are this thread's.
struct Share {
  std::int64_t low;
  std::int64_t high;
};

// The loops over elements of one mode and dtype; the walk over indices is compiled once and knows only their sizes.
struct Update {
  std::int64_t to_size;
  std::int64_t from_size;
  // to[places[i]] with from[i * from_step]
  void (*elements)(void* to, const std::int64_t* places, const void* from, std::int64_t from_step, std::int64_t n);
  // to[i * to_step] with from[i * from_step]
  void (*line)(void* to, std::int64_t to_step, const void* from, std::int64_t from_step, std::int64_t n);
};

// T: what the region holds; V: what the values are stored as. They differ where half precision is worked on as f32.
template <ScatterMode mode, class T, class V>
T updated(T to, V from) {
  return static_cast<T>(combined<mode>(widened(to), widened(from)));
}

template <ScatterMode mode, class T, class V>
void update_elements(void* region, const std::int64_t* places, const void* all, std::int64_t from_step, std::int64_t n) {
  T* const to = static_cast<T*>(region);
  const V* const from = static_cast<const V*>(all);
  for (std::int64_t i = 0; i < n; ++i) to[places[i]] = updated<mode, T, V>(to[places[i]], from[i * from_step]);
}

template <ScatterMode mode, class T, class V>
void update_line(void* region, std::int64_t to_step, const void* all, std::int64_t from_step, std::int64_t n) {
  T* const to = static_cast<T*>(region);
  const V* const from = static_cast<const V*>(all);
  if (to_step == 1 && from_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = updated<mode, T, V>(to[i], from[i]);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = updated<mode, T, V>(to[i * to_step], from[i * from_step]);
  }
}

template <ScatterMode mode, class T, class V = T>
constexpr Update update_by() {
  return {sizeof(T), sizeof(V), update_elements<mode, T, V>, update_line<mode, T, V>};
}

template <class T, class V = T>
Update update_of(ScatterMode mode) {
  switch (mode) {
    case ScatterMode::add: return update_by<ScatterMode::add, T, V>();
    case ScatterMode::multiply: return update_by<ScatterMode::multiply, T, V>();
    case ScatterMode::minimum: return update_by<ScatterMode::minimum, T, V>();
    case ScatterMode::maximum: return update_by<ScatterMode::maximum, T, V>();
    case ScatterMode::set: return visit_size(sizeof(T), []<class U>(U) { return update_by<ScatterMode::set, U>(); });
  }
  return {};
}

void scatter_one_by_one(const Update& update, const IndexSpace& space, const KernelCall& call, std::byte* region) {
  std::array<std::int64_t, longest_run> places;
  for_each_run(space, call.operands[2], call.site, [&](const auto& run) {
    run.for_each([to = places.data()](std::int64_t place, std::int64_t) mutable { *to++ = place; });
    update.elements(region, places.data(), call.in(1).data + run.value * update.from_size, run.value_step, run.n);
  });
}

// What one thread does of it. Positions in row-major order: the last of several values for one place wins, and sums are added up
// in the order of their values. `share`: none where all places are its own; of slices only.
void scatter_part(const Update& update, const IndexSpace& space, const KernelCall& call, std::byte* region, const Share* share) {
  if (is_by_element(space)) return scatter_one_by_one(update, space, call, region);
  const std::byte* const values = call.in(1).data;
  const std::int64_t positions = space.position_count();
  const bool is_element = space.slice_count() == 1;
  const Line line = line_of(space);
  const std::size_t last = space.rank - space.inner;  // after the positions' axes
  const Line along = last == space.outer ? Line{} : Line{space.size[last - 1], space.place[last - 1], space.value[last - 1]};
  PlaceBlock block;
  for (std::int64_t begin = 0; begin < positions; begin += most_places) {
    const std::int64_t n = std::min(most_places, positions - begin);
    locate(space, &call.in(1) + 1, begin, n, block, call.site);
    for_each_step(space, 0, space.outer, [&](std::int64_t place, std::int64_t value) {
      std::byte* const to = region + place * update.to_size;
      const std::byte* const from = values + value * update.from_size;
      for (std::int64_t done = 0; is_element && done < n;) {  // along the last axis, values are equally far apart
        const std::int64_t some = std::min(along.size - (begin + done) % along.size, n - done);
        const auto i = static_cast<std::size_t>(done);
        update.elements(to, block.place.data() + i, from + block.value[i] * update.from_size, along.value, some);
        done += some;
      }
      if (is_element) return;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const std::int64_t at = place + block.place[i];
        if (share != nullptr && (at < share->low || at >= share->high)) continue;
        for_each_line(space, [&](std::int64_t p, std::int64_t v) {
          update.line(to + (block.place[i] + p) * update.to_size, line.place, from + (block.value[i] + v) * update.from_size,
                      line.value, line.size);
        });
      }
    });
  }
}

// Half precision is added up, or multiplied, in f32 and rounded once: positions are sorted by their place, and what meets there
// is taken together.
template <class T>
void scatter_halves(ScatterMode mode, const IndexSpace& space, const KernelCall& call, std::byte* region, Parallel& parallel) {
  struct Position {
    std::int64_t place;
    std::int64_t value;
  };
  const T* const values = call.in(1).as<T>();
  const std::int64_t positions = space.position_count();
  std::vector<Position> sorted(static_cast<std::size_t>(positions));
  PlaceBlock block;
  for (std::int64_t begin = 0; begin < positions; begin += most_places) {
    const std::int64_t n = std::min(most_places, positions - begin);
    locate(space, &call.in(1) + 1, begin, n, block, call.site);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
      sorted[static_cast<std::size_t>(begin) + i] = {block.place[i], block.value[i]};
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Position& a, const Position& b) { return a.place < b.place; });
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (i == 0 || sorted[i].place != sorted[i - 1].place) starts.push_back(i);
  }
  starts.push_back(sorted.size());
  const Line line = line_of(space);
  const auto update = update_of<float, T>(mode).line;
  const auto work = [&](std::size_t begin, std::size_t end) {
    constexpr std::int64_t at_once = 256;
    std::array<float, at_once> sums;
    for (std::size_t run = begin; run < end; ++run) {
      for_each_step(space, 0, space.outer, [&](std::int64_t place, std::int64_t value) {
        for_each_line(space, [&](std::int64_t p, std::int64_t v) {
          for (std::int64_t first = 0; first < line.size; first += at_once) {
            const std::int64_t n = std::min(at_once, line.size - first);
            T* const to = reinterpret_cast<T*>(region) + place + sorted[starts[run]].place + p + first * line.place;
            update_line<ScatterMode::set, float, T>(sums.data(), 1, to, line.place, n);
            for (std::size_t at = starts[run]; at < starts[run + 1]; ++at)
              update(sums.data(), 1, values + value + sorted[at].value + v + first * line.value, line.value, n);
            update_line<ScatterMode::set, T, float>(to, line.place, sums.data(), 1, n);
          }
        });
      });
    }
  };
  const std::size_t runs = starts.size() - 1;
  const std::size_t chunks = std::min(runs, parallel.width() * 4);
  if (space.outer_count() * positions * space.slice_count() < serial_elements || chunks <= 1) return work(0, runs);
  parallel.for_each_chunk(chunks, [&](std::size_t chunk) { work(runs * chunk / chunks, runs * (chunk + 1) / chunks); });
}

void scatter_shared(const Update& update, const IndexSpace& space, const KernelCall& call, std::byte* region,
                    Parallel& parallel) {
  const auto attributes = call.attributes->as<ScatterAttributes>();
  const auto width = static_cast<std::int64_t>(parallel.width());
  const std::int64_t moved = space.outer_count() * space.position_count() * space.slice_count();
  if (moved < serial_elements || width == 1) return scatter_part(update, space, call, region, nullptr);
  // Along an axis that keeps places apart, if there is a long one: every thread then has places of its own.
  std::size_t cut = space.rank;
  for (std::size_t i = 0; i < space.rank && cut == space.rank; ++i) {
    if (space.place[i] != 0 && space.size[i] >= 16 * width) cut = i;
  }
  if (cut < space.rank) {
    const std::int64_t size = space.size[cut];
    parallel.for_each_chunk(static_cast<std::size_t>(8 * width), [&](std::size_t chunk) {
      const auto i = static_cast<std::int64_t>(chunk);
      scatter_part(update, space.part(cut, size * i / (8 * width), size * (i + 1) / (8 * width)), call, region, nullptr);
    });
    return;
  }
  // Otherwise every thread looks at all positions and takes those whose places are its own; for single elements that costs more
  // than it saves.
  constexpr std::int64_t least_slice = 8;
  if (space.slice_count() < least_slice) return scatter_part(update, space, call, region, nullptr);
  std::int64_t reach = 1;
  std::int64_t lowest = 0;  // steps back give places before the region's first element
  for (std::size_t i = 0; i < static_cast<std::size_t>(attributes.rank); ++i) {
    const std::int64_t span = (attributes.axes[i].size - 1) * attributes.axes[i].stride;
    reach += std::abs(span);
    lowest += std::min<std::int64_t>(span, 0);
  }
  parallel.for_each_chunk(static_cast<std::size_t>(width), [&](std::size_t chunk) {
    const auto i = static_cast<std::int64_t>(chunk);
    const Share share{lowest + reach * i / width, lowest + reach * (i + 1) / width};
    scatter_part(update, space, call, region, &share);
  });
}

// The whole output as f32, changed, and rounded once: for changes that are many, next to its size.
template <class T>
void scatter_widened(const ScatterAttributes& attributes, const IndexSpace& space, const KernelCall& call, Parallel& parallel) {
  const Operand& out = call.out();
  const std::int64_t count = out.count();
  const auto sums = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count));
  const Reader reader(out, DType::f32);
  for_each_range(parallel, count, [&](std::int64_t begin, std::int64_t end) {
    reader.read_into(begin, end - begin, reinterpret_cast<std::byte*>(sums.get() + begin));
  });
  auto* const region = reinterpret_cast<std::byte*>(sums.get() + attributes.offset);
  scatter_shared(update_of<float, T>(attributes.mode), space, call, region, parallel);
  const Row narrow = conversion(DType::f32, out.dtype);
  for_each_range(parallel, count, [&](std::int64_t begin, std::int64_t end) {
    const void* from = sums.get() + begin;
    narrow(&from, 0, out.as<T>() + begin, static_cast<std::size_t>(end - begin));
  });
}

// Without indices: the values are copied over the region.
void set_region(const KernelCall& call, const ScatterAttributes& attributes, Parallel& parallel) {
  Operand from = call.in(1);
  Operand to = call.out();
  to.data += attributes.offset * static_cast<std::int64_t>(size_of(to.dtype));
  to.rank = static_cast<std::uint8_t>(attributes.rank);
  to.axes = attributes.axes;
  if (from.rank == 0) {
    for (std::size_t i = 0; i < to.rank; ++i) from.axes[i] = {to.axes[i].size, 0};
    from.rank = to.rank;
  }
  copy(from, to, parallel);
}

void scatter_positions(const KernelCall& call, const ScatterAttributes& attributes, Parallel& parallel) {
  const Operand& out = call.out();
  const IndexSpace space = scatter_space(call);
  std::byte* const region = out.data + attributes.offset * static_cast<std::int64_t>(size_of(out.dtype));
  const bool accumulates = attributes.mode == ScatterMode::add || attributes.mode == ScatterMode::multiply;
  if (accumulates && half_dtypes.contains(out.dtype)) {
    const std::int64_t moved = space.outer_count() * space.position_count() * space.slice_count();
    return visit_dtype<half_dtypes>(out.dtype, [&]<class T>(T) {
      if (out.is_dense() && out.count() / 8 <= moved) return scatter_widened<T>(attributes, space, call, parallel);
      scatter_halves<T>(attributes.mode, space, call, region, parallel);
    });
  }
  const Update update = visit_dtype(out.dtype, [&]<class T>(T) { return update_of<T>(attributes.mode); });
  scatter_shared(update, space, call, region, parallel);
}

}  // namespace

static void scatter(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<ScatterAttributes>();
  const Operand& out = call.out();
  Parallel& parallel = context.parallel;
  if (out.data != call.in(0).data) copy(call.in(0), out, parallel);
  if (call.inputs == 2 && attributes.mode == ScatterMode::set) return set_region(call, attributes, parallel);
  with_near(call, 1, parallel, [&](const KernelCall& own) { scatter_positions(own, attributes, parallel); });
}

[[maybe_unused]] static const bool scatter_is_registered =
    register_host_kernel("TensorScatterUpdate", scatter) && register_host_kernel("TensorScatterAdd", scatter) &&
    register_host_kernel("TensorScatterMul", scatter) && register_host_kernel("TensorScatterMin", scatter) &&
    register_host_kernel("TensorScatterMax", scatter);

}  // namespace tutti::kernels

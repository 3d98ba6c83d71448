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

// T: what the region holds; V: what the values are stored as. They differ where half precision is worked on as f32.
template <ScatterMode mode, class T, class V>
void update_line(T* to, std::int64_t to_step, const V* from, std::int64_t from_step, std::int64_t n) {
  if constexpr (mode == ScatterMode::set) {
    if (to_step == 1 && from_step == 1) {
      std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
    } else {
      for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
    }
  } else if (to_step == 1 && from_step == 1) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(combined<mode>(widened(to[i]), widened(from[i])));
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      T& element = to[i * to_step];
      element = static_cast<T>(combined<mode>(widened(element), widened(from[i * from_step])));
    }
  }
}

// Places from `low` to before `high`, in elements of the region, are this thread's.
struct Share {
  std::int64_t low;
  std::int64_t high;
};

// What one thread does of it, of any mode and types. `share`: none where all places are its own.
using ScatterPart = void (*)(const IndexSpace& space, const KernelCall& call, void* region, const Share* share);

template <ScatterMode mode, class T, class V>
void scatter_one_by_one(const IndexSpace& space, const KernelCall& call, T* region) {
  const V* values = call.in(1).as<V>();
  for_each_run(space, call.operands[2], call.site, [region, values](const auto& run) {
    run.for_each([region, values](std::int64_t place, std::int64_t value) {
      region[place] = static_cast<T>(combined<mode>(widened(region[place]), widened(values[value])));
    });
  });
}

// Positions in row order: the last of several values for one place wins, and sums are added up in the order of their values.
template <ScatterMode mode, class T, class V>
void scatter_part(const IndexSpace& space, const KernelCall& call, void* start, const Share* share) {
  T* const region = static_cast<T*>(start);
  if (is_by_element(space) && share == nullptr) return scatter_one_by_one<mode, T, V>(space, call, region);
  const V* values = call.in(1).as<V>();
  const std::int64_t positions = space.position_count();
  const bool is_element = space.slice_count() == 1;
  const Line line = line_of(space);
  PlaceBlock block;
  for (std::int64_t begin = 0; begin < positions; begin += most_places) {
    const std::int64_t n = std::min(most_places, positions - begin);
    locate(space, &call.in(1) + 1, begin, n, block, call.site);
    for_each_step(space, 0, space.outer, [&](std::int64_t place, std::int64_t value) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const std::int64_t at = place + block.place[i];
        if (share != nullptr && (at < share->low || at >= share->high)) continue;
        T* to = region + at;
        const V* from = values + value + block.value[i];
        if (is_element) {
          *to = static_cast<T>(combined<mode>(widened(*to), widened(*from)));
          continue;
        }
        for_each_line(space, [&](std::int64_t p, std::int64_t v) {
          update_line<mode>(to + p, line.place, from + v, line.value, line.size);
        });
      }
    });
  }
}

// Half precision is added up, or multiplied, in f32 and rounded once: positions are sorted by their place, and what meets there
// is taken together.
template <ScatterMode mode, class T>
void scatter_halves(const IndexSpace& space, const KernelCall& call, T* region, Parallel& parallel) {
  struct Position {
    std::int64_t place;
    std::int64_t value;
  };
  const T* values = call.in(1).as<T>();
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
  const auto work = [&](std::size_t begin, std::size_t end) {
    std::array<float, 256> sums;
    for (std::size_t run = begin; run < end; ++run) {
      for_each_step(space, 0, space.outer, [&](std::int64_t place, std::int64_t value) {
        for_each_line(space, [&](std::int64_t p, std::int64_t v) {
          for (std::int64_t first = 0; first < line.size; first += 256) {
            const std::int64_t n = std::min<std::int64_t>(256, line.size - first);
            T* to = region + place + sorted[starts[run]].place + p + first * line.place;
            for (std::int64_t i = 0; i < n; ++i) sums[static_cast<std::size_t>(i)] = static_cast<float>(to[i * line.place]);
            for (std::size_t at = starts[run]; at < starts[run + 1]; ++at) {
              const T* from = values + value + sorted[at].value + v + first * line.value;
              for (std::int64_t i = 0; i < n; ++i) {
                float& sum = sums[static_cast<std::size_t>(i)];
                sum = combined<mode>(sum, static_cast<float>(from[i * line.value]));
              }
            }
            for (std::int64_t i = 0; i < n; ++i) to[i * line.place] = T(sums[static_cast<std::size_t>(i)]);
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

void scatter_shared(ScatterPart part, const IndexSpace& space, const KernelCall& call, void* region, Parallel& parallel) {
  const auto attributes = call.attributes->as<ScatterAttributes>();
  const auto width = static_cast<std::int64_t>(parallel.width());
  const std::int64_t moved = space.outer_count() * space.position_count() * space.slice_count();
  if (moved < serial_elements || width == 1) return part(space, call, region, nullptr);
  // Along an axis that keeps places apart, if there is a long one: every thread then has places of its own.
  std::size_t cut = space.rank;
  for (std::size_t i = 0; i < space.rank && cut == space.rank; ++i) {
    if (space.place[i] != 0 && space.size[i] >= 16 * width) cut = i;
  }
  if (cut < space.rank) {
    const std::int64_t size = space.size[cut];
    parallel.for_each_chunk(static_cast<std::size_t>(8 * width), [&](std::size_t chunk) {
      const auto i = static_cast<std::int64_t>(chunk);
      part(space.part(cut, size * i / (8 * width), size * (i + 1) / (8 * width)), call, region, nullptr);
    });
    return;
  }
  // Otherwise every thread looks at all positions and takes those whose places are its own; for single elements that costs more
  // than it saves.
  constexpr std::int64_t least_slice = 8;
  if (space.slice_count() < least_slice) return part(space, call, region, nullptr);
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
    part(space, call, region, &share);
  });
}

// The whole output as f32, changed, and rounded once: for changes that are many, next to its size.
template <ScatterMode mode, class T>
void scatter_widened(const IndexSpace& space, const KernelCall& call, Parallel& parallel) {
  const Operand& out = call.out();
  const std::int64_t count = out.count();
  const auto sums = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count));
  const Reader reader(out, DType::f32);
  for_each_range(parallel, count, [&](std::int64_t begin, std::int64_t end) {
    reader.read_into(begin, end - begin, reinterpret_cast<std::byte*>(sums.get() + begin));
  });
  float* const region = sums.get() + call.attributes->as<ScatterAttributes>().offset;
  scatter_shared(scatter_part<mode, float, T>, space, call, region, parallel);
  const Row narrow = conversion(DType::f32, out.dtype);
  for_each_range(parallel, count, [&](std::int64_t begin, std::int64_t end) {
    const void* from = sums.get() + begin;
    narrow(&from, 0, out.as<T>() + begin, static_cast<std::size_t>(end - begin));
  });
}

template <ScatterMode mode, class T>
void scatter_elements(const IndexSpace& space, const KernelCall& call, T* region, Parallel& parallel) {
  if constexpr (is_half<T> && (mode == ScatterMode::add || mode == ScatterMode::multiply)) {
    const std::int64_t moved = space.outer_count() * space.position_count() * space.slice_count();
    if (call.out().is_dense() && call.out().count() / 8 <= moved) return scatter_widened<mode, T>(space, call, parallel);
    return scatter_halves<mode>(space, call, region, parallel);
  } else {
    scatter_shared(scatter_part<mode, T, T>, space, call, region, parallel);
  }
}

template <class T>
void scatter_values(const IndexSpace& space, const KernelCall& call, const ScatterAttributes& attributes, Parallel& parallel) {
  T* region = call.out().as<T>() + attributes.offset;
  switch (attributes.mode) {
    case ScatterMode::add: return scatter_elements<ScatterMode::add>(space, call, region, parallel);
    case ScatterMode::multiply: return scatter_elements<ScatterMode::multiply>(space, call, region, parallel);
    case ScatterMode::minimum: return scatter_elements<ScatterMode::minimum>(space, call, region, parallel);
    case ScatterMode::maximum: return scatter_elements<ScatterMode::maximum>(space, call, region, parallel);
    case ScatterMode::set: return;
  }
}

template <class U>
void set_values(const IndexSpace& space, const KernelCall& call, const ScatterAttributes& attributes, Parallel& parallel) {
  scatter_elements<ScatterMode::set>(space, call, call.out().as<U>() + attributes.offset, parallel);
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
  if (attributes.mode != ScatterMode::set) {
    return visit_dtype(out.dtype, [&]<class T>(T) { scatter_values<T>(space, call, attributes, parallel); });
  }
  switch (size_of(out.dtype)) {
    case 1: return set_values<std::uint8_t>(space, call, attributes, parallel);
    case 2: return set_values<std::uint16_t>(space, call, attributes, parallel);
    case 4: return set_values<std::uint32_t>(space, call, attributes, parallel);
    default: return set_values<std::uint64_t>(space, call, attributes, parallel);
  }
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

[[maybe_unused]] static const bool is_registered =
    register_host_kernel("TensorScatterUpdate", scatter) && register_host_kernel("TensorScatterAdd", scatter) &&
    register_host_kernel("TensorScatterMul", scatter) && register_host_kernel("TensorScatterMin", scatter) &&
    register_host_kernel("TensorScatterMax", scatter);

}  // namespace tutti::kernels

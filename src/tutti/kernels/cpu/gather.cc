#include <algorithm>
#include <bit>

#include "tutti/exec/attributes.h"
#include "tutti/exec/indexing_attributes.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/index_places.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/row_order.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

template <class U>
void copy_line(const U* from, std::int64_t from_step, U* to, std::int64_t to_step, std::int64_t n) {
  const Row row = to_step == 1 ? copy_row(sizeof(U), from_step) : nullptr;
  if (row != nullptr) {
    const void* input = from;
    row(&input, from_step == 0 ? 1 : 0, to, static_cast<std::size_t>(n));
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
}

template <class U>
void gather_elements(const IndexSpace& space, const Operand& indices, const U* x, U* out, Site site) {
  for_each_run(space, indices, site, [x, out](const auto& run) {
    run.for_each([x, out](std::int64_t place, std::int64_t value) { out[value] = x[place]; });
  });
}

// Elements of steps that are contiguous, for positions whose values are too: a transposed square at a time. Takes whole squares
// of the first `steps` steps, which are `value_step` apart, and returns how many steps that were.
template <class U>
std::int64_t gather_turned(const U* from, const PlaceBlock& block, std::int64_t n, std::int64_t steps, U* to,
                           std::int64_t value_step) {
  constexpr std::int64_t side = line_bytes / static_cast<std::int64_t>(sizeof(U));
  const auto transposed = copy_rows()[static_cast<std::size_t>(std::countr_zero(sizeof(U)))].transposed;
  std::array<const void*, side> lines;
  std::int64_t step = 0;
  for (; step + side <= steps; step += side) {
    std::int64_t i = 0;
    for (; i + side <= n; i += side) {
      for (std::int64_t k = 0; k < side; ++k) {
        lines[static_cast<std::size_t>(k)] = from + step + block.place[static_cast<std::size_t>(i + k)];
      }
      transposed(lines.data(), to + step * value_step + i, value_step);
    }
    for (; i < n; ++i) {
      for (std::int64_t k = step; k < step + side; ++k)
        to[k * value_step + i] = from[k + block.place[static_cast<std::size_t>(i)]];
    }
  }
  return step;
}

// A part of the space by one thread. Indices are looked up a block at a time and used for every outer step.
template <class U>
void gather_part(const IndexSpace& space, const Operand* indices, const U* x, U* out, Site site) {
  if (is_by_element(space)) return gather_elements(space, *indices, x, out, site);
  const std::int64_t positions = space.position_count();
  const std::int64_t slice = space.slice_count();
  const Line line = line_of(space);
  const std::size_t along = space.rank - space.inner - 1;
  const bool by_element = slice == 1 && positions > 1 && space.value[along] == 1 && space.rank - space.inner - space.outer == 1;
  PlaceBlock block;
  for (std::int64_t begin = 0; begin < positions; begin += most_places) {
    const std::int64_t n = std::min(most_places, positions - begin);
    locate(space, indices, begin, n, block, site);
    if (by_element) {
      // The last outer axis, if there is one, is walked here.
      const std::size_t last = space.outer == 0 ? 0 : space.outer - 1;
      const std::int64_t steps = space.outer == 0 ? 1 : space.size[last];
      const std::int64_t place_step = space.outer == 0 ? 0 : space.place[last];
      const std::int64_t value_step = space.outer == 0 ? 0 : space.value[last];
      for_each_step(space, 0, last, [&](std::int64_t place, std::int64_t value) {
        const U* from = x + place;
        U* to = out + value + block.value[0];
        std::int64_t step = place_step == 1 ? gather_turned(from, block, n, steps, to, value_step) : 0;
        for (; step < steps; ++step) {
          for (std::int64_t i = 0; i < n; ++i) {
            to[step * value_step + i] = from[step * place_step + block.place[static_cast<std::size_t>(i)]];
          }
        }
      });
      continue;
    }
    for_each_step(space, 0, space.outer, [&](std::int64_t place, std::int64_t value) {
      const U* from = x + place;
      U* to = out + value;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const U* source = from + block.place[i];
        U* target = to + block.value[i];
        if (slice == 1) {
          *target = *source;
        } else if (space.inner <= 1) {
          copy_line(source, line.place, target, line.value, slice);
        } else {
          for_each_line(space, [&](std::int64_t p, std::int64_t v) {
            copy_line(source + p, line.place, target + v, line.value, line.size);
          });
        }
      }
    });
  }
}

void gather_part(const IndexSpace& space, const KernelCall& call) {
  const Operand& x = call.in(0);
  const Operand* indices = &call.in(1);
  visit_size(size_of(x.dtype), [&]<class U>(U) { gather_part(space, indices, x.as<U>(), call.out().as<U>(), call.site); });
}

// One slice: a copy between two strided operands, which copy() knows how to spread over the cores.
void gather_one(const IndexSpace& space, const KernelCall& call, Parallel& parallel) {
  PlaceBlock block;
  locate(space, &call.in(1), 0, 1, block, call.site);
  Operand from = call.in(0);
  Operand to = call.out();
  const auto size = static_cast<std::int64_t>(size_of(from.dtype));
  from.data += block.place[0] * size;
  to.data += block.value[0] * size;
  from.rank = to.rank = static_cast<std::uint8_t>(space.inner);
  for (std::size_t i = 0; i < space.inner; ++i) {
    const std::size_t axis = space.rank - space.inner + i;
    from.axes[i] = {space.size[axis], space.place[axis]};
    to.axes[i] = {space.size[axis], space.value[axis]};
  }
  copy(from, to, parallel);
}

void gather_from(const IndexSpace& space, const KernelCall& call, KernelContext& context) {
  const std::int64_t positions = space.position_count();
  const std::int64_t moved = space.outer_count() * positions * space.slice_count();
  const auto width = static_cast<std::int64_t>(context.parallel.width());
  if (positions == 0) return;
  if (moved < serial_elements || width == 1) return gather_part(space, call);
  if (space.inner == space.rank) return gather_one(space, call, context.parallel);
  // Cut along the outermost axis that is long enough, else along the longest.
  std::size_t cut = 0;
  for (std::size_t i = 1; i < space.rank && space.size[cut] < 4 * width; ++i) {
    if (space.size[i] > space.size[cut]) cut = i;
  }
  const std::int64_t chunks = std::min(space.size[cut], 4 * width);
  context.parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    const auto i = static_cast<std::int64_t>(chunk);
    gather_part(space.part(cut, space.size[cut] * i / chunks, space.size[cut] * (i + 1) / chunks), call);
  });
}

// Axes along which all places are one are outer and inner ones too: unlike in a scatter it does not matter which comes first.
IndexSpace with_repeats(IndexSpace space) {
  const auto moves_no_index = [&](std::size_t axis) {
    const auto& steps = space.index[axis];
    return std::all_of(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(space.indices), [](auto s) { return s == 0; });
  };
  while (space.outer + space.inner < space.rank && moves_no_index(space.rank - 1 - space.inner)) ++space.inner;
  while (space.outer + space.inner < space.rank && moves_no_index(space.outer)) ++space.outer;
  return space;
}

// Whether elements that are taken one after the other are far apart.
bool walks_far(const IndexSpace& space, DType dtype) {
  if (space.inner == 0) return space.outer == 0;
  return copy_row(size_of(dtype), line_of(space).place) == nullptr;
}

// `space_of` makes the space of a call.
template <class SpaceOf>
void gather(const KernelCall& call, KernelContext& context, const SpaceOf& space_of) {
  const IndexSpace space = with_repeats(space_of(call));
  if (call.in(0).count() / 2 > call.out().count() || !walks_far(space, call.in(0).dtype))
    return gather_from(space, call, context);
  with_near(call, 0, context.parallel, [&](const KernelCall& own) { gather_from(with_repeats(space_of(own)), own, context); });
}

void check_dtypes(const KernelCall& call) {
  for (std::size_t i = 1; i < call.inputs; ++i) {
    const DType dtype = call.in(i).dtype;
    if (dtype != DType::i32 && dtype != DType::i64) refuse_dtype("a gather with indices", dtype, call.site);
  }
}

}  // namespace

static void take(const KernelCall& call, KernelContext& context) {
  check_dtypes(call);
  const std::int32_t axis = call.attributes->as<TakeAttributes>().axis;
  const std::array names{static_cast<std::int8_t>(axis)};
  gather(call, context, [&](const KernelCall& own) { return gather_space(own, static_cast<std::size_t>(axis), names); });
}

static void gather_nd(const KernelCall& call, KernelContext& context) {
  check_dtypes(call);
  const auto attributes = call.attributes->as<GatherAttributes>();
  gather(call, context,
         [&](const KernelCall& own) { return gather_space(own, static_cast<std::size_t>(attributes.first), attributes.names); });
}

static void take_along_axis(const KernelCall& call, KernelContext& context) {
  check_dtypes(call);
  const auto axis = static_cast<std::size_t>(call.attributes->as<AlongAttributes>().axis);
  gather(call, context, [&](const KernelCall& own) { return along_space(own, axis); });
}

[[maybe_unused]] static const bool gather_is_registered = register_host_kernel("GatherV2", take) &&
                                                          register_host_kernel("GatherNd", gather_nd) &&
                                                          register_host_kernel("TakeAlongAxis", take_along_axis);

}  // namespace tutti::kernels

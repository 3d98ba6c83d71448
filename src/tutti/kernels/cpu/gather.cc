#include <algorithm>
#include <cstring>

#include "tutti/exec/attributes.h"
#include "tutti/exec/indexing_attributes.h"
#include "tutti/kernels/cpu/elementwise.h"
#include "tutti/kernels/cpu/index_places.h"
#include "tutti/kernels/cpu/kernels.h"
#include "tutti/kernels/cpu/registration.h"

namespace tutti::kernels {

namespace {

template <class U>
void copy_line(const U* from, std::int64_t from_step, U* to, std::int64_t to_step, std::int64_t n) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(U));
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
}

template <class U>
void gather_elements(const IndexSpace& space, const Operand& indices, const U* x, U* out, Site site) {
  for_each_run(space, indices, site, [&](const auto& run) {
    U* const to = out + run.value;
    if (run.is_plain()) {
      const U* const from = x + run.place;
      for (std::int64_t i = 0; i < run.n; ++i) {
        const auto index = static_cast<std::int64_t>(run.indices[i]);
        to[i] = from[(index + (run.size & (index >> 63U))) * run.stride];
      }
    } else {
      for (std::int64_t i = 0; i < run.n; ++i) to[i * run.value_step] = x[run.place_at(i)];
    }
  });
}

// A part of the space by one thread. Indices are looked up a block at a time and used for every outer step.
template <class U>
void gather_part(const IndexSpace& space, const Operand* indices, const U* x, U* out, Site site) {
  if (is_by_element(space)) return gather_elements(space, *indices, x, out, site);
  const std::int64_t positions = space.position_count();
  const std::int64_t slice = space.slice_count();
  const Line line = line_of(space);
  const bool is_dense = line.place == 1 && line.value == 1 && space.inner <= 1;
  const std::size_t along = space.rank - space.inner - 1;
  const bool by_element = slice == 1 && positions > 1 && space.value[along] == 1 && space.rank - space.inner - space.outer == 1;
  PlaceBlock block;
  for (std::int64_t begin = 0; begin < positions; begin += most_places) {
    const std::int64_t n = std::min(most_places, positions - begin);
    locate(space, indices, begin, n, block, site);
    for_each_step(space, 0, space.outer, [&](std::int64_t place, std::int64_t value) {
      const U* from = x + place;
      U* to = out + value;
      if (by_element) {
        to += block.value[0];
        for (std::int64_t i = 0; i < n; ++i) to[i] = from[block.place[static_cast<std::size_t>(i)]];
        return;
      }
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const U* source = from + block.place[i];
        U* target = to + block.value[i];
        if (slice == 1) {
          *target = *source;
        } else if (is_dense) {
          std::memcpy(target, source, static_cast<std::size_t>(slice) * sizeof(U));
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
  switch (size_of(x.dtype)) {
    case 1: return gather_part(space, indices, x.as<std::uint8_t>(), call.out().as<std::uint8_t>(), call.site);
    case 2: return gather_part(space, indices, x.as<std::uint16_t>(), call.out().as<std::uint16_t>(), call.site);
    case 4: return gather_part(space, indices, x.as<std::uint32_t>(), call.out().as<std::uint32_t>(), call.site);
    default: return gather_part(space, indices, x.as<std::uint64_t>(), call.out().as<std::uint64_t>(), call.site);
  }
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

void gather(const IndexSpace& space, const KernelCall& call, KernelContext& context) {
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
  gather(gather_space(call, static_cast<std::size_t>(axis), names), call, context);
}

static void gather_nd(const KernelCall& call, KernelContext& context) {
  check_dtypes(call);
  const auto attributes = call.attributes->as<GatherAttributes>();
  gather(gather_space(call, static_cast<std::size_t>(attributes.first), attributes.names), call, context);
}

static void take_along_axis(const KernelCall& call, KernelContext& context) {
  check_dtypes(call);
  gather(along_space(call, static_cast<std::size_t>(call.attributes->as<AlongAttributes>().axis)), call, context);
}

[[maybe_unused]] static const bool is_registered = register_host_kernel("GatherV2", take) &&
                                                   register_host_kernel("GatherNd", gather_nd) &&
                                                   register_host_kernel("TakeAlongAxis", take_along_axis);

}  // namespace tutti::kernels

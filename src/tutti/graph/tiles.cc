#include "tutti/graph/tiles.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "tutti/exec/op_table.h"
#include "tutti/exec/reduction_attributes.h"
#include "tutti/graph/fusion.h"

namespace tutti::graph {

namespace {

constexpr std::int64_t line_bytes = 64;
// A tile's values and the elements that come and go beside them stay in a core's own caches. In the first one alone they would
// be too short: a call of a kernel costs as much as a few hundred elements, and the processor fetches ahead within a stretch.
constexpr std::int64_t cache_bytes = 128 * 1024;
constexpr std::int64_t fewest_in_tile = 1024;
constexpr std::int64_t most_in_tile = 8192;
// What a group reads and writes does not stay in the last cache: as kernels decide for themselves (kernels/cpu/streaming.h).
constexpr std::int64_t large_bytes = std::int64_t{32} << 20U;
constexpr std::int64_t elements_per_core = 32768;  // of one call; below, another core costs more than it saves

std::int64_t bytes_of(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

// A plain store would read the line first.
void copy_past_caches(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__SSE2__)
  if (reinterpret_cast<std::uintptr_t>(to) % sizeof(__m128i) == 0) {
    for (; bytes >= sizeof(__m128i); bytes -= sizeof(__m128i), to += sizeof(__m128i), from += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
#endif
  std::memcpy(to, from, bytes);
}

void finish_copies() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

const RecordedUse* use_of(const RecordedLaunch& launch, std::size_t operand) {
  const auto found =
      std::find_if(launch.uses.begin(), launch.uses.end(), [&](const auto& use) { return use.operand == operand; });
  return found == launch.uses.end() ? nullptr : &*found;
}

bool uses(const RecordedLaunch& launch, std::size_t slot) {
  return launch.uses_slot(slot, false) || launch.uses_slot(slot, true);
}

}  // namespace

TiledGroup::TiledGroup(const Record& record, std::span<const std::size_t> launches, std::vector<const KernelCall*> calls,
                       const std::vector<bool>& passes) {
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const RecordedLaunch& launch = record.launches[launches[i]];
    Step& step = steps_.emplace_back(Step{calls[i], launch.kernel, std::vector<Part>(launch.operands.size())});
    for (std::size_t k = 0; k < step.parts.size(); ++k) {
      const RecordedUse* use = use_of(launch, k);
      if (use != nullptr && passes[use->slot]) step.parts[k].room = 0;  // which one is not known yet
    }
  }
  reduces_ = reduces_rows(record.launches[launches.back()]);
  join_axes(record, launches);
  give_rooms(record, launches, passes);
  choose_tile();
}

// Neighbours that all operands in memory step through alike are one axis. What has no memory lies as the tile does.
void TiledGroup::join_axes(const Record& record, std::span<const std::size_t> launches) {
  const auto of_launch = [&](std::size_t i) -> const RecordedLaunch& { return record.launches[launches[i]]; };
  const std::size_t elementwise = steps_.size() - (reduces_ ? 1 : 0);
  const Operand& all = of_launch(0).operands.back();
  const Operand& reduced = of_launch(steps_.size() - 1).operands[0];
  bool flat = true;
  for (std::size_t i = 0; i < elementwise; ++i) flat = flat && is_flat(of_launch(i));
  const auto each_part = [&](const auto& visit) {
    for (std::size_t i = 0; i < elementwise; ++i) {
      for (std::size_t k = 0; k < steps_[i].parts.size(); ++k) visit(steps_[i].parts[k], of_launch(i).operands[k]);
    }
  };
  const std::int64_t row = reduces_ ? reduced.axes[reduced.rank - 1U].size : 1;
  if (flat) {
    sizes_ = reduces_ ? std::vector{all.count() / row, row} : std::vector{all.count()};
    each_part([&](Part& part, const Operand& operand) {
      const std::int64_t stride = operand.is_immediate || operand.is_single() ? 0 : bytes_of(operand.dtype);
      part.strides = reduces_ ? std::vector{stride * row, stride} : std::vector{stride};
    });
  }
  for (std::size_t axis = 0; axis < all.rank && !flat; ++axis) {
    const std::int64_t size = all.axes[axis].size;
    const bool is_reduced = reduces_ && axis + 1U == all.rank;
    if (size == 1 && !is_reduced) continue;
    const auto stride_of = [&](const Operand& operand) {
      return operand.is_immediate || operand.rank == 0 ? 0 : operand.axes[axis].stride * bytes_of(operand.dtype);
    };
    bool joins = !sizes_.empty() && !is_reduced;
    each_part([&](const Part& part, const Operand& operand) {
      if (joins && part.room == nowhere) joins = part.strides.back() == stride_of(operand) * size;
    });
    each_part([&](Part& part, const Operand& operand) {
      if (joins) part.strides.pop_back();
      part.strides.push_back(stride_of(operand));
    });
    if (joins) {
      sizes_.back() *= size;
    } else {
      sizes_.push_back(size);
    }
  }
  if (!reduces_) return;
  // Both lie without gaps: the one it reads, and its result, which has no last axis.
  std::vector<Part>& parts = steps_.back().parts;
  for (Part& part : parts) part.strides.assign(sizes_.size(), 0);
  std::int64_t rows = 1;
  for (std::size_t axis = sizes_.size(); axis-- > 0;) {
    parts[0].strides[axis] = (axis + 1 == sizes_.size() ? 1 : rows * row) * bytes_of(reduced.dtype);
    if (axis + 1 == sizes_.size()) continue;
    parts[1].strides[axis] = rows * bytes_of(of_launch(elementwise).operands[1].dtype);
    rows *= sizes_[axis];
  }
}

// A room is free again behind the call that uses its value last, or for what that call makes of it.
void TiledGroup::give_rooms(const Record& record, std::span<const std::size_t> launches, const std::vector<bool>& passes) {
  std::int64_t touched = 0;
  for (const Step& step : steps_) {
    for (std::size_t k = 0; k < step.parts.size(); ++k) {
      std::int64_t bytes = step.parts[k].room == nowhere ? bytes_of(step.call->operands[k].dtype) : 0;
      for (std::size_t axis = 0; axis < sizes_.size(); ++axis) bytes *= step.parts[k].strides[axis] == 0 ? 1 : sizes_[axis];
      touched += bytes;
    }
  }
  std::vector<std::size_t> held;  // by room: the slot
  const auto last_use = [&](std::size_t slot) {
    std::size_t last = 0;
    for (std::size_t i = 0; i < launches.size(); ++i) last = uses(record.launches[launches[i]], slot) ? i : last;
    return last;
  };
  const auto is_first_met = [&](std::size_t slot, std::size_t at) {
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const RecordedLaunch& launch = record.launches[launches[i]];
      if (i < at ? uses(launch, slot) : i == at ? launch.uses_slot(slot, false) : launch.uses_slot(slot, true)) return false;
    }
    return true;
  };
  const auto room_of = [&](std::size_t slot) {
    return static_cast<std::size_t>(std::find(held.begin(), held.end(), slot) - held.begin());
  };
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const RecordedLaunch& launch = record.launches[launches[i]];
    Step& step = steps_[i];
    const std::size_t out = launch.inputs;
    std::size_t taken_over = nowhere;
    for (std::size_t k = 0; k < out; ++k) {
      const RecordedUse* const use = use_of(launch, k);
      const std::size_t room = use == nullptr ? held.size() : room_of(use->slot);
      if (room == held.size()) continue;
      step.parts[k].room = room;
      if (launch.op->access_of(k) == Access::consume && launch.operands[k].dtype == launch.operands[out].dtype &&
          last_use(use->slot) == i)
        taken_over = room;
    }
    const std::size_t slot = use_of(launch, out)->slot;
    Part& made = step.parts[out];
    made.is_stored = !passes[slot] && !(reduces_ && i + 1 == launches.size()) && touched >= large_bytes &&
                     is_dense(made, launch.operands[out]) && is_first_met(slot, i);
    if (passes[slot] || made.is_stored) {
      std::size_t room = room_of(slot);
      if (room == held.size()) room = taken_over;
      if (room == nowhere) room = room_of(nowhere);
      if (room == held.size()) held.push_back(nowhere);
      held[room] = slot;
      made.room = room;
    }
    for (std::size_t& each : held) {
      if (each != nowhere && last_use(each) <= i) each = nowhere;
    }
  }
  rooms_ = held.size();
}

bool TiledGroup::is_dense(const Part& part, const Operand& operand) const {
  std::int64_t stride = bytes_of(operand.dtype);
  for (std::size_t axis = sizes_.size(); axis-- > 0; stride *= sizes_[axis]) {
    if (part.strides[axis] != stride) return false;
  }
  return true;
}

void TiledGroup::choose_tile() {
  std::int64_t widest = 1;
  for (const Step& step : steps_) {
    for (std::size_t k = 0; k < step.parts.size(); ++k) widest = std::max(widest, bytes_of(step.call->operands[k].dtype));
  }
  const auto at_once = static_cast<std::int64_t>(rooms_) + 2;  // and an input, and the output
  const std::int64_t most = std::clamp(cache_bytes / (at_once * widest) / line_bytes * line_bytes, fewest_in_tile, most_in_tile);
  cut_ = sizes_.size() - 1;
  if (reduces_) inner_ = sizes_[cut_--];
  while (cut_ > 0 && inner_ * sizes_[cut_] <= most / 2) inner_ *= sizes_[cut_--];
  piece_ = std::max<std::int64_t>(1, std::min(sizes_[cut_], most / inner_));
  pieces_ = (sizes_[cut_] + piece_ - 1) / piece_;
  tiles_ = pieces_;
  for (std::size_t axis = 0; axis < cut_; ++axis) tiles_ *= sizes_[axis];
  if (reduces_) {
    Step& last = steps_.back();
    last.attributes = *last.call->attributes;
    last.attributes.overwrite(0, ReductionAttributes{.axes = 1U << (sizes_.size() - 1 - cut_)}.axes);
  }
  room_bytes_ = static_cast<std::size_t>((piece_ * inner_ * widest + line_bytes - 1) / line_bytes * line_bytes);
}

// The calls over a part of their operands.
struct TiledGroup::Worker {
  struct FreeAligned {
    void operator()(std::byte* memory) const noexcept { ::operator delete(memory, std::align_val_t{line_bytes}); }
  };

  explicit Worker(const TiledGroup& group)
      : of(group),
        rooms(static_cast<std::byte*>(
            ::operator new(std::max<std::size_t>(1, group.rooms_) * group.room_bytes_, std::align_val_t{line_bytes}))) {
    for (const Step& step : of.steps_) {
      std::vector<Operand>& mine = operands.emplace_back(step.call->operands, step.call->operands + step.parts.size());
      for (std::size_t k = 0; k < mine.size(); ++k) {
        std::int64_t dense = 1;
        const bool is_reduced = of.reduces_ && &step == &of.steps_.back() && k == 1;
        const std::size_t axes = of.sizes_.size() - (is_reduced ? 1 : 0);
        mine[k].rank = static_cast<std::uint8_t>(axes - of.cut_);
        for (std::size_t axis = axes; axis-- > of.cut_;) {
          const std::int64_t size = axis == of.cut_ ? of.piece_ : of.sizes_[axis];
          const std::int64_t stride = step.parts[k].strides[axis] / bytes_of(mine[k].dtype);
          mine[k].axes[axis - of.cut_] = {size, step.parts[k].room != nowhere ? dense : stride};
          dense *= size;
        }
        if (step.parts[k].room != nowhere) mine[k].data = rooms.get() + step.parts[k].room * of.room_bytes_;
      }
    }
  }

  void run(std::int64_t tile, const std::vector<bool>& left_out) {
    const std::int64_t begin = tile % of.pieces_ * of.piece_;
    const std::int64_t some = std::min(of.piece_, of.sizes_[of.cut_] - begin);
    std::array<std::int64_t, most_axes> index{};
    for (std::int64_t rest = tile / of.pieces_, axis = static_cast<std::int64_t>(of.cut_); axis-- > 0;) {
      index[static_cast<std::size_t>(axis)] = rest % of.sizes_[static_cast<std::size_t>(axis)];
      rest /= of.sizes_[static_cast<std::size_t>(axis)];
    }
    index[of.cut_] = begin;
    const auto in_memory = [&](const Step& step, std::size_t k) {
      std::byte* at = step.call->operands[k].data;
      for (std::size_t axis = 0; axis <= of.cut_; ++axis) at += index[axis] * step.parts[k].strides[axis];
      return at;
    };
    for (std::size_t i = 0; i < of.steps_.size(); ++i) {
      if (left_out[i]) continue;
      const Step& step = of.steps_[i];
      for (std::size_t k = 0; k < operands[i].size(); ++k) {
        operands[i][k].axes[0].size = some;
        if (step.parts[k].room == nowhere) operands[i][k].data = in_memory(step, k);
      }
      KernelCall call = *step.call;
      call.operands = operands[i].data();
      if (of.reduces_ && i + 1 == of.steps_.size()) call.attributes = &step.attributes;
      step.kernel(call, context);
      if (const Operand& out = operands[i].back(); step.parts.back().is_stored)
        copy_past_caches(in_memory(step, call.inputs), out.data,
                         static_cast<std::size_t>(some * of.inner_ * bytes_of(out.dtype)));
    }
  }

  const TiledGroup& of;
  const std::unique_ptr<std::byte, FreeAligned> rooms;
  std::vector<std::vector<Operand>> operands;  // by step
  Serial alone;
  KernelContext context{alone, nullptr};
};

void TiledGroup::run(const std::vector<bool>& left_out, Parallel& parallel) const {
  const auto width = static_cast<std::int64_t>(parallel.width());
  const std::int64_t grain = elements_per_core / static_cast<std::int64_t>(size());
  const std::int64_t most = std::min(tiles_, std::max<std::int64_t>(1, tiles_ * piece_ * inner_ / grain));
  // Several for each core: one that comes late finds less to do.
  const std::int64_t chunks = width == 1 ? 1 : std::min(width * 8, most);
  parallel.for_each_chunk(static_cast<std::size_t>(chunks), [&](std::size_t chunk) {
    Worker worker(*this);
    const auto number = static_cast<std::int64_t>(chunk);
    for (std::int64_t tile = tiles_ * number / chunks; tile < tiles_ * (number + 1) / chunks; ++tile) worker.run(tile, left_out);
    finish_copies();
  });
}

}  // namespace tutti::graph

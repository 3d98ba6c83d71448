#include <algorithm>

#include "tutti/base/error.h"
#include "tutti/exec/index_message.h"
#include "tutti/exec/indexing_attributes.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/strided.h"

namespace tutti::kernels {

// Element i of the input says how often i stands in the output.
static void repeat_indices(const KernelCall& call, KernelContext& /*context*/) {
  const Reader repeats(call.in(0), DType::i64);
  const std::int64_t count = repeats.layout().count();
  const std::int64_t room = call.out().axes[0].size;
  auto* const out = call.out().as<std::int64_t>();
  Scratch scratch;
  std::uint64_t total = 0;  // a sum of many large ones wraps, and does not come out as the size but by design
  for (std::int64_t at = 0; at < count; at += block_elements) {
    const std::int64_t n = std::min(block_elements, count - at);
    const auto* some = reinterpret_cast<const std::int64_t*>(repeats.read(at, n, scratch));
    for (std::int64_t i = 0; i < n; ++i) {
      if (some[i] < 0) throw KernelFailed(negative_repeat(some[i]), call.site);
      const auto begin = static_cast<std::int64_t>(std::min(total, static_cast<std::uint64_t>(room)));
      std::fill_n(out + begin, std::min(some[i], room - begin), at + i);
      total += static_cast<std::uint64_t>(some[i]);
    }
  }
  if (call.attributes->as<RepeatAttributes>().room == Room::padded) {
    const auto filled = static_cast<std::int64_t>(std::min(total, static_cast<std::uint64_t>(room)));
    std::fill_n(out + filled, room - filled, std::int64_t{0});
    *call.out(1).as<std::int64_t>() = static_cast<std::int64_t>(total);
    return;
  }
  if (total != static_cast<std::uint64_t>(room))
    throw KernelFailed(repeats_do_not_match(room, static_cast<std::int64_t>(total)), call.site);
}

[[maybe_unused]] static const bool repeat_is_registered = register_host_kernel("RepeatIndices", repeat_indices);

}  // namespace tutti::kernels

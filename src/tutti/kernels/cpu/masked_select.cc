#include <algorithm>
#include <cstring>

#include "tutti/kernels/cpu/registration.h"
#include "tutti/kernels/cpu/row_order.h"
#include "tutti/kernels/cpu/truth.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// Moves the elements whose byte is 1 to the front; returns how many. `to` has room for n.
template <class U>
std::int64_t pick(const U* from, const std::uint8_t* truth, std::int64_t n, U* to) {
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    to[found] = from[i];
    found += truth[i];
  }
  return found;
}

// x and the mask have one shape.
template <class U>
void select_range(const Reader& x, const TruthReader& mask, std::int64_t begin, std::int64_t end, U* out, std::int64_t room) {
  Scratch x_scratch;
  Scratch mask_scratch;
  std::array<std::uint8_t, block_elements> truth;
  alignas(64) std::array<U, block_elements> picked;
  for (std::int64_t at = begin; at < end && room > 0; at += block_elements) {
    const std::int64_t n = std::min(block_elements, end - at);
    mask.read(at, n, mask_scratch, truth.data());
    const U* elements = reinterpret_cast<const U*>(x.read(at, n, x_scratch));
    const std::int64_t found = std::min(room, pick(elements, truth.data(), n, picked.data()));
    std::memcpy(out, picked.data(), static_cast<std::size_t>(found) * sizeof(U));
    out += found;
    room -= found;
  }
}

template <class U>
void select(const KernelCall& call, Parallel& parallel) {
  const auto attributes = call.attributes->as<MaskedSelectAttributes>();
  const std::int64_t room = attributes.size;
  const RowOrder near_x(call.in(0), parallel);
  const RowOrder near_mask(call.in(1), parallel);
  const Reader x(near_x.operand());
  const TruthReader mask(near_mask.operand());
  U* const out = call.out().as<U>();
  std::vector<std::int64_t> starts = counts_by_range(mask, parallel);
  const std::int64_t total = starts_from_counts(starts);
  check_room(attributes.room, room, total, call.site);
  *call.out(1).as<std::int64_t>() = total;
  if (total < room) std::fill(out + total, out + room, *call.in(2).as<U>());
  if (total == 0) return;
  for_each_range_number(parallel, starts.size(), [&](std::size_t range) {
    const std::int64_t begin = static_cast<std::int64_t>(range) * range_elements;
    const std::int64_t end = std::min(begin + range_elements, mask.count());
    if (starts[range] < room) select_range(x, mask, begin, end, out + starts[range], room - starts[range]);
  });
}

}  // namespace

static void masked_select(const KernelCall& call, KernelContext& context) {
  visit_size(size_of(call.in(0).dtype), [&]<class U>(U) { select<U>(call, context.parallel); });
}

[[maybe_unused]] static const bool masked_select_is_registered = register_host_kernel("MaskedSelect", masked_select);

}  // namespace tutti::kernels

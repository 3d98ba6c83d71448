#include "tutti/kernels/cuda/layout.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace tutti::kernels::cuda {

namespace {

bool is_aligned(const std::byte* address, std::int64_t bytes) noexcept {
  return reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(bytes) == 0;
}

bool steps_on(const Axes& axes, std::size_t inner, std::size_t outer) noexcept {
  for (std::size_t k = 0; k < axes.operands; ++k) {
    if (axes.stride[outer][k] != axes.stride[inner][k] * axes.size[inner]) return false;
  }
  return true;
}

}  // namespace

bool Axes::fits_32_bits() const noexcept {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (count() > most) return false;
  for (std::size_t k = 0; k < operands; ++k) {
    std::int64_t reach = 0;
    for (std::size_t i = 0; i < rank; ++i) reach += (size[i] - 1) * std::abs(stride[i][k]);
    if (reach > most) return false;
  }
  return true;
}

Axes collapse(std::span<const Operand* const> operands) noexcept {
  Axes axes;
  axes.operands = operands.size();
  const Operand& lead = *operands[0];
  for (std::size_t k = 0; k < operands.size(); ++k) {
    axes.data[k] = operands[k]->data;
    axes.element_bytes[k] = static_cast<std::int64_t>(size_of(operands[k]->dtype));
  }
  for (std::size_t i = lead.rank; i-- > 0;) {
    if (lead.axes[i].size == 1) continue;
    std::size_t at = axes.rank++;
    for (; at > 0 && std::abs(axes.stride[at - 1][0]) > std::abs(lead.axes[i].stride); --at) {
      axes.size[at] = axes.size[at - 1];
      axes.stride[at] = axes.stride[at - 1];
    }
    axes.size[at] = lead.axes[i].size;
    for (std::size_t k = 0; k < operands.size(); ++k) axes.stride[at][k] = operands[k]->axes[i].stride;
  }
  if (axes.rank == 0) return axes;
  std::size_t last = 0;
  for (std::size_t i = 1; i < axes.rank; ++i) {
    if (steps_on(axes, last, i)) {
      axes.size[last] *= axes.size[i];
    } else if (++last != i) {
      axes.size[last] = axes.size[i];
      axes.stride[last] = axes.stride[i];
    }
  }
  axes.rank = last + 1;
  return axes;
}

bool bring_forward_turned(Axes& axes) noexcept {
  constexpr std::int64_t fewest = 8;       // shorter rows would leave most of a tile empty
  constexpr std::int64_t smallest = 1024;  // what lies closer together the cache turns
  if (axes.rank < 2 || axes.stride[0][0] != 1 || axes.size[0] < fewest) return false;
  for (std::size_t k = 1; k < axes.operands; ++k) {
    if (std::abs(axes.stride[0][k]) <= 1) continue;
    for (std::size_t i = 1; i < axes.rank; ++i) {
      if (std::abs(axes.stride[i][k]) != 1 || axes.size[i] < fewest || axes.size[0] * axes.size[i] < smallest) continue;
      std::rotate(axes.size.begin() + 1, axes.size.begin() + i, axes.size.begin() + i + 1);
      std::rotate(axes.stride.begin() + 1, axes.stride.begin() + i, axes.stride.begin() + i + 1);
      return true;
    }
  }
  return false;
}

void revisit_soon(Axes& axes) noexcept {
  constexpr std::int64_t kept = std::int64_t{1} << 20;  // bytes
  constexpr std::int64_t fewest = 4096;                 // cut smaller, pieces would cost more than they save
  std::size_t again = 0;
  std::int64_t inside = axes.element_bytes[1];  // of the axis, in bytes
  while (again < axes.rank && (axes.stride[again][1] != 0 || inside <= 8 * kept)) inside *= axes.size[again++];
  if (again == axes.rank || axes.rank == most_axes) return;
  std::size_t cut = 0;
  std::int64_t bytes = axes.element_bytes[1];  // of a step along the axis to be cut
  while (bytes * axes.size[cut] <= kept) bytes *= axes.size[cut++];
  std::int64_t piece = axes.size[cut] & -axes.size[cut];
  while (piece * bytes > kept) piece /= 2;
  if (piece * bytes < fewest) return;
  std::rotate(axes.size.begin() + cut + 1, axes.size.begin() + again, axes.size.begin() + again + 1);
  std::rotate(axes.stride.begin() + cut + 1, axes.stride.begin() + again, axes.stride.begin() + again + 1);
  for (std::size_t i = axes.rank++; i > cut + 2; --i) {
    axes.size[i] = axes.size[i - 1];
    axes.stride[i] = axes.stride[i - 1];
  }
  axes.size[cut + 2] = axes.size[cut] / piece;
  for (std::size_t k = 0; k < axes.operands; ++k) axes.stride[cut + 2][k] = axes.stride[cut][k] * piece;
  axes.size[cut] = piece;
}

bool into_packs(Axes& axes, std::int64_t width, bool gathers) noexcept {
  if (axes.rank == 0 || width == 1 || axes.size[0] % width != 0 || axes.stride[0][0] != 1) return false;
  for (std::size_t k = 0; k < axes.operands; ++k) {
    const std::int64_t step = axes.stride[0][k];
    if (step == 0 || (gathers && step != 1)) continue;
    if (step != 1 || !is_aligned(axes.data[k], width * axes.element_bytes[k])) return false;
    for (std::size_t i = 1; i < axes.rank; ++i) {
      if (axes.stride[i][k] % width != 0) return false;
    }
  }
  axes.lane_step = axes.stride[0];
  axes.size[0] /= width;
  for (std::size_t k = 0; k < axes.operands; ++k) axes.stride[0][k] *= width;
  return true;
}

void enlarge_elements(Axes& axes) noexcept {
  while (axes.rank > 0 && axes.element_bytes[0] < 8 && axes.size[0] % 2 == 0) {
    for (std::size_t k = 0; k < axes.operands; ++k) {
      if (axes.stride[0][k] != 1 || !is_aligned(axes.data[k], 2 * axes.element_bytes[k])) return;
      for (std::size_t i = 1; i < axes.rank; ++i) {
        if (axes.stride[i][k] % 2 != 0) return;
      }
    }
    axes.size[0] /= 2;
    for (std::size_t k = 0; k < axes.operands; ++k) {
      axes.element_bytes[k] *= 2;
      for (std::size_t i = 1; i < axes.rank; ++i) axes.stride[i][k] /= 2;
    }
  }
}

}  // namespace tutti::kernels::cuda

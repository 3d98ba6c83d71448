#include "tutti/backends/cuda/virtual_range.h"

#include <algorithm>
#include <vector>

namespace tutti::cuda {

bool VirtualRange::reserve(std::size_t bytes) noexcept {
  CUdeviceptr address = 0;
  if (driver().cuMemAddressReserve(&address, bytes, granule, 0, 0) != CUDA_SUCCESS) return false;
  base_ = reinterpret_cast<std::byte*>(address);
  size_ = bytes;
  return true;
}

std::string VirtualRange::map(std::size_t offset, std::size_t bytes, CUmemLocation where,
                              std::span<const CUmemLocation> accessible_from) {
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = where;
  std::vector<CUmemAccessDesc> access(accessible_from.size());
  for (std::size_t i = 0; i < access.size(); ++i) {
    access[i].location = accessible_from[i];
    access[i].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  CUresult result = CUDA_SUCCESS;
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t piece = std::min(bytes - done, largest_piece);
    CUmemGenericAllocationHandle memory = 0;
    result = driver().cuMemCreate(&memory, piece, &kind, 0);
    if (result != CUDA_SUCCESS) break;
    result = driver().cuMemMap(at(offset + done), piece, 0, memory, 0);
    driver().cuMemRelease(memory);  // the mapping keeps it
    if (result != CUDA_SUCCESS) break;
    pieces_[offset + done] = piece;
    done += piece;
  }
  if (result == CUDA_SUCCESS) result = driver().cuMemSetAccess(at(offset), bytes, access.data(), access.size());
  if (result == CUDA_SUCCESS) return {};
  unmap(offset, done);
  return driver().describe(result);
}

void VirtualRange::unmap(std::size_t offset, std::size_t bytes) noexcept {
  const auto first = pieces_.lower_bound(offset);
  auto last = first;
  for (; last != pieces_.end() && last->first < offset + bytes; ++last) driver().cuMemUnmap(at(last->first), last->second);
  pieces_.erase(first, last);
}

MemorySpace::Part VirtualRange::whole_pieces(std::size_t offset, std::size_t bytes) const noexcept {
  const std::size_t end = offset + bytes;
  const auto first = pieces_.lower_bound(offset);
  std::size_t last = offset;
  for (auto piece = first; piece != pieces_.end() && piece->first + piece->second <= end; ++piece)
    last = piece->first + piece->second;
  if (last == offset) return {offset, 0};
  return {first->first, last - first->first};
}

}  // namespace tutti::cuda

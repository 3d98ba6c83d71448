#include "tutti/backends/strand/mapped_range.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>

namespace tutti {

MappedRange::MappedRange(std::size_t bytes) : size_(bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(base);
}

MappedRange::~MappedRange() { ::munmap(base_, size_); }

std::string MappedRange::commit(std::size_t offset, std::size_t bytes) noexcept {
  if (::mprotect(base_ + offset, bytes, PROT_READ | PROT_WRITE) != 0) return std::strerror(errno);
  // Best effort: without huge pages everything works, first touches just cost more.
  (void)::madvise(base_ + offset, bytes, MADV_HUGEPAGE);
  return {};
}

void MappedRange::give_back(std::size_t offset, std::size_t bytes) noexcept {
  (void)::madvise(base_ + offset, bytes, MADV_DONTNEED);
  (void)::mprotect(base_ + offset, bytes, PROT_NONE);
}

}  // namespace tutti

// The working buffers of the linked BLAS, one for each call under way. OpenBLAS's build without threads looks for a free one
// without a lock, so two threads that call it at once can be given the same; and it has a fixed number of them. The linker
// sends its calls here instead (`--wrap`, in dependencies.cmake).
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

extern "C" {
// OpenBLAS's own: a new buffer of the size it needs and one page more, from malloc.
void* blas_memory_alloc_nolock(int unused);
// What the linker puts in the place of blas_memory_alloc and blas_memory_free.
[[gnu::visibility("hidden")]] void* __wrap_blas_memory_alloc(int unused);
[[gnu::visibility("hidden")]] void __wrap_blas_memory_free(void* buffer);
}

namespace tutti::kernels {

namespace {

// Buffers that nobody uses, the last one used first. None is given back to the system: there are as many as there were calls at
// the same time, and of each only the pages that were used are there.
class IdleBuffers {
 public:
  void* take() noexcept {
    const std::scoped_lock lock(mutex_);
    return first_ == nullptr ? nullptr : std::exchange(first_, first_->next);
  }
  void add(void* buffer) noexcept {
    auto* idle = new (buffer) Idle{nullptr};
    const std::scoped_lock lock(mutex_);
    idle->next = std::exchange(first_, idle);
  }

 private:
  struct Idle {
    Idle* next;
  };
  std::mutex mutex_;
  Idle* first_ = nullptr;
};

constinit IdleBuffers idle_buffers;

// At the start of a page, as OpenBLAS has its own: this is what the page more is for.
void* new_buffer() {
  constexpr std::uintptr_t page = 4096;
  void* memory = blas_memory_alloc_nolock(0);
  if (memory == nullptr) throw std::bad_alloc();  // nothing is held by the BLAS function it passes through
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return static_cast<std::byte*>(memory) + ((address + page - 1) / page * page - address);
}

}  // namespace

}  // namespace tutti::kernels

void* __wrap_blas_memory_alloc(int /*unused*/) {
  void* buffer = tutti::kernels::idle_buffers.take();
  return buffer != nullptr ? buffer : tutti::kernels::new_buffer();
}

void __wrap_blas_memory_free(void* buffer) { tutti::kernels::idle_buffers.add(buffer); }

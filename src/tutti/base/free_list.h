// Recycles fixed-size objects, so that making one per op costs no heap allocation.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti {

// Each thread keeps a short list of its own; surplus moves in batches through a shared one, so objects made on one
// thread and let go on another neither pile up nor contend.
template <class T>
class FreeList {
 public:
  template <class... Args>
  static T* make(Args&&... args) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    void* memory = take();
    if constexpr (std::is_nothrow_constructible_v<T, Args...>) {
      return new (memory) T(static_cast<Args&&>(args)...);
    } else {
      try {
        return new (memory) T(static_cast<Args&&>(args)...);
      } catch (...) {
        give(memory);
        throw;
      }
    }
  }
  static void destroy(T* object) noexcept {
    object->~T();
    give(object);
  }

 private:
  static constexpr std::size_t batch = 64;
  struct Node {
    Node* next;
  };
  // Without a destructor, so that it is reached without asking whether it was made.
  struct Local {
    Node* head = nullptr;
    std::size_t size = 0;
    std::size_t most = 0;  // before the thread's first use and after its end: none
  };
  struct Lifetime {
    Lifetime() noexcept { local().most = 2 * batch; }
    ~Lifetime() {
      local().most = 0;
      shed();
    }
  };
  struct Shared {
    std::mutex mutex;
    Node* head = nullptr;
    std::vector<void*> chunks;  // keeps every chunk reachable for leak checkers
  };
  static Shared& shared() {
    static Shared& instance = *new Shared;  // outlives every thread and static object
    return instance;
  }
  static Local& local() noexcept {
    static constinit thread_local Local instance;
    return instance;
  }
  static void begin() noexcept { static const thread_local Lifetime instance; }

  static void* take() {
    Local& mine = local();
    Node* node = mine.head;
    if (node == nullptr) [[unlikely]]
      return refill();
    mine.head = node->next;
    --mine.size;
    return node;
  }
  [[gnu::noinline]] static void* refill() {
    begin();
    Local& mine = local();
    Shared& common = shared();
    const std::lock_guard lock(common.mutex);
    if (common.head == nullptr) {
      constexpr std::size_t stride =
          (sizeof(T) + alignof(std::max_align_t) - 1) / alignof(std::max_align_t) * alignof(std::max_align_t);
      auto* chunk = static_cast<std::byte*>(::operator new(stride* batch));
      common.chunks.push_back(chunk);
      for (std::size_t i = 0; i < batch; ++i) {
        auto* node = reinterpret_cast<Node*>(chunk + i * stride);
        node->next = common.head;
        common.head = node;
      }
    }
    for (std::size_t i = 0; i < batch && common.head != nullptr; ++i) {
      move_one(common.head, mine.head);
      ++mine.size;
    }
    return take();
  }
  static void give(void* memory) noexcept {
    Local& mine = local();
    auto* node = static_cast<Node*>(memory);
    node->next = mine.head;
    mine.head = node;
    if (++mine.size > mine.most) [[unlikely]]
      shed();
  }
  // Of a list that is full, half goes to the other threads; when the thread ends, all.
  [[gnu::noinline]] static void shed() noexcept {
    begin();
    Local& mine = local();
    if (mine.size <= mine.most) return;
    Shared& common = shared();
    const std::lock_guard lock(common.mutex);
    for (; mine.size > mine.most / 2; --mine.size) move_one(mine.head, common.head);
  }
  static void move_one(Node*& from, Node*& to) noexcept {
    Node* node = std::exchange(from, from->next);
    node->next = std::exchange(to, node);
  }
};

}  // namespace tutti

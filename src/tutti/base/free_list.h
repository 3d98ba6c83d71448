// Recycles fixed-size objects, so that making one per op costs no heap allocation.
#pragma once

#include <cstddef>
#include <mutex>
#include <new>
#include <type_traits>
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
  struct Local {
    Node* head = nullptr;
    std::size_t size = 0;
    bool alive = true;
    ~Local() {
      alive = false;
      Shared& common = shared();
      const std::lock_guard lock(common.mutex);
      while (head != nullptr) {
        Node* next = head->next;
        head->next = common.head;
        common.head = head;
        head = next;
      }
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
  static Local& local() {
    static thread_local Local instance;
    return instance;
  }

  static void* take() {
    Local& mine = local();
    if (mine.head == nullptr) refill(mine);
    Node* node = mine.head;
    mine.head = node->next;
    --mine.size;
    return node;
  }
  static void refill(Local& mine) {
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
      Node* node = common.head;
      common.head = node->next;
      node->next = mine.head;
      mine.head = node;
      ++mine.size;
    }
  }
  static void give(void* memory) noexcept {
    Local& mine = local();
    auto* node = static_cast<Node*>(memory);
    if (!mine.alive) {  // the thread is ending; its list is gone
      Shared& common = shared();
      const std::lock_guard lock(common.mutex);
      node->next = common.head;
      common.head = node;
      return;
    }
    node->next = mine.head;
    mine.head = node;
    if (++mine.size < 2 * batch) return;
    Shared& common = shared();
    const std::lock_guard lock(common.mutex);
    for (std::size_t i = 0; i < batch; ++i) {
      Node* surplus = mine.head;
      mine.head = surplus->next;
      surplus->next = common.head;
      common.head = surplus;
      --mine.size;
    }
  }
};

}  // namespace tutti

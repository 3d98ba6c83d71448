// A counted pointer whose count lives in the object; the object says how it is let go.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tutti {

// Base of a counted object. Derived classes define `void release() noexcept`, called once, by the last owner.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  [[nodiscard]] bool is_unique() const noexcept { return count_.load(std::memory_order_acquire) == 1; }

 protected:
  ~Counted() = default;

 private:
  template <class T>
  friend class Ref;
  std::atomic<std::uint32_t> count_{0};
};

template <class T>
class Ref {
 public:
  Ref() noexcept = default;
  Ref(std::nullptr_t) noexcept {}
  explicit Ref(T* object) noexcept : object_(object) { retain(); }
  Ref(const Ref& other) noexcept : object_(other.object_) { retain(); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { drop(); }

  [[nodiscard]] T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) noexcept { return a.object_ == b.object_; }

 private:
  void retain() noexcept {
    if (object_ != nullptr) object_->count_.fetch_add(1, std::memory_order_relaxed);
  }
  void drop() noexcept {
    T* const object = object_;
    if (object == nullptr) return;
    // The sole owner needs no read-modify-write: nobody else can touch the count.
    if (object->count_.load(std::memory_order_acquire) == 1 || object->count_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      object->count_.store(0, std::memory_order_relaxed);
      object->release();
    }
  }
  T* object_ = nullptr;
};

}  // namespace tutti

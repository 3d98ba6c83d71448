// How a kernel spreads one piece of work over the cores its device lends it.
#pragma once

#include <cstddef>
#include <type_traits>

namespace tutti {

class Parallel {
 public:
  using Body = void (*)(void* context, std::size_t chunk);

  Parallel() = default;
  Parallel(const Parallel&) = delete;
  Parallel& operator=(const Parallel&) = delete;
  virtual ~Parallel() = default;

  // How many chunks can run at the same time.
  [[nodiscard]] virtual std::size_t width() const noexcept = 0;
  // Uses at most so many cores from now on; at least one, at most what it was made with. Returns the new width.
  virtual std::size_t limit_width(std::size_t width) noexcept = 0;
  // Runs body(0) ... body(chunks - 1), the caller taking its share; returns when all have run. The first exception of
  // a chunk is rethrown.
  virtual void run(std::size_t chunks, Body body, void* context) = 0;

  template <class F>
  void for_each_chunk(std::size_t chunks, F&& body) {
    run(
        chunks, [](void* context, std::size_t chunk) { (*static_cast<std::remove_reference_t<F>*>(context))(chunk); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }
};

// One core: the caller's.
class Serial final : public Parallel {
 public:
  [[nodiscard]] std::size_t width() const noexcept override { return 1; }
  std::size_t limit_width(std::size_t) noexcept override { return 1; }
  void run(std::size_t chunks, Body body, void* context) override {
    for (std::size_t i = 0; i < chunks; ++i) body(context, i);
  }
};

}  // namespace tutti

// A reserved range of addresses in which pages are committed and given back: the memory behind cpu and sim.
#pragma once

#include <cstddef>
#include <string>

namespace tutti {

class MappedRange {
 public:
  // Throws std::bad_alloc when the addresses are not to be had.
  explicit MappedRange(std::size_t bytes);
  ~MappedRange();
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // Empty when committed, else the system's reason.
  [[nodiscard]] std::string commit(std::size_t offset, std::size_t bytes) noexcept;
  void give_back(std::size_t offset, std::size_t bytes) noexcept;

  static constexpr std::size_t granule = std::size_t{2} << 20U;
  // Whole granules, and twice the capacity: holes that trimming leaves do not run the addresses out.
  static constexpr std::size_t range_for(std::size_t capacity) noexcept {
    return 2 * ((capacity + granule - 1) / granule * granule);
  }

 private:
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tutti

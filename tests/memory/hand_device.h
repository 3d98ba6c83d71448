// A device for the tests of memory: real mapped memory that is counted, and streams whose work is done when the test
// says so.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tutti/hal/device.h"

namespace tutti {

class CountedSpace final : public MemorySpace {
 public:
  explicit CountedSpace(std::size_t capacity, std::size_t granule = std::size_t{64} << 10U)
      : granule_(granule), capacity_(capacity), range_(4 * capacity) {
    base_ = static_cast<std::byte*>(::mmap(nullptr, range_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  }
  ~CountedSpace() override { ::munmap(base_, range_); }

  [[nodiscard]] std::byte* base() const noexcept override { return base_; }
  [[nodiscard]] std::size_t range() const noexcept override { return range_; }
  [[nodiscard]] std::size_t granule() const noexcept override { return granule_; }
  [[nodiscard]] std::size_t capacity() const noexcept override { return capacity_; }
  [[nodiscard]] std::ptrdiff_t kernel_offset() const noexcept override { return 0; }
  [[nodiscard]] bool is_host_visible() const noexcept override { return true; }

  [[nodiscard]] std::string map(std::size_t offset, std::size_t bytes) override {
    ++map_calls;
    if (while_mapping) while_mapping();
    if (offset % granule_ != 0 || bytes % granule_ != 0) faults.emplace_back("map: not whole granules");
    if (mapped() + bytes > device_has) return "only so much memory on this board";
    for (std::size_t at = offset; at < offset + bytes; at += granule_) {
      if (!granules_.insert(at).second) faults.emplace_back("map: mapped twice");
    }
    ::mprotect(base_ + offset, bytes, PROT_READ | PROT_WRITE);
    return {};
  }
  void unmap(std::size_t offset, std::size_t bytes) noexcept override {
    ++unmap_calls;
    if (offset % granule_ != 0 || bytes % granule_ != 0) faults.emplace_back("unmap: not whole granules");
    for (std::size_t at = offset; at < offset + bytes; at += granule_) {
      if (granules_.erase(at) == 0) faults.emplace_back("unmap: was not mapped");
    }
    ::mprotect(base_ + offset, bytes, PROT_NONE);
  }

  [[nodiscard]] std::size_t mapped() const noexcept { return granules_.size() * granule_; }
  std::size_t device_has = ~std::size_t{0} >> 1U;  // what the device really grants
  std::function<void()> while_mapping;
  std::size_t map_calls = 0;
  std::size_t unmap_calls = 0;
  std::vector<std::string> faults;

 private:
  std::size_t granule_;
  std::size_t capacity_;
  std::size_t range_;
  std::byte* base_;
  std::set<std::size_t> granules_;
};

// Submits nothing: next() makes a point, finish() says the work up to it is done. A host that blocks gets its way, unless the
// test says that each wait ends after so many pieces of work.
class HandStream final : public DeviceStream {
 public:
  using DeviceStream::DeviceStream;
  ~HandStream() override { finish(last()); }

  TimelinePoint next() {
    own_timeline().set_submitted(own_timeline().submitted() + 1);
    return last();
  }
  void finish(TimelinePoint point) {
    const std::lock_guard lock(finishing_);
    if (own_timeline().completed() < point.value) own_timeline().advance(point.value);
  }
  std::atomic<unsigned> blocked = 0;
  std::uint64_t done_per_wait = ~std::uint64_t{0};

  [[nodiscard]] TimelinePoint full_until(std::uint64_t) const override { return {}; }
  TimelinePoint submit(const Work&, std::span<const TimelinePoint>) override { return next(); }
  void kick() override {}
  bool block_until(std::uint64_t value, Deadline) override {
    ++blocked;
    const std::uint64_t completed = own_timeline().completed();
    finish({id(), std::min(value, completed + std::min(done_per_wait, value - completed))});
    return own_timeline().completed() >= value;
  }
  void cancel() override {}
  [[nodiscard]] std::vector<PendingWork> pending() const override {
    std::vector<PendingWork> out;
    for (std::uint64_t value = own_timeline().completed() + 1; value <= own_timeline().submitted(); ++value)
      out.push_back({"HandWork", {}, {id(), value}});
    return out;
  }

 private:
  std::mutex finishing_;  // a timeline is advanced by one thread at a time
};

class HandDevice final : public Device {
 public:
  explicit HandDevice(std::size_t capacity = std::size_t{64} << 20U, std::size_t granule = std::size_t{64} << 10U)
      : Device(DeviceId{0}, {}, "/job:localhost/replica:0/task:0/device:GPU:0"), space(capacity, granule) {}

  [[nodiscard]] MemorySpace& memory() noexcept override { return space; }
  [[nodiscard]] Parallel& parallel() noexcept override { return serial_; }
  std::unique_ptr<DeviceStream> make_stream(const StreamOptions& options) override {
    return std::make_unique<HandStream>(*this, options);
  }
  [[nodiscard]] bool runs_in_caller() const noexcept override { return true; }
  void stop() noexcept override {}

  CountedSpace space;

 private:
  Serial serial_;
};

inline constexpr std::size_t kibibyte = 1024;
inline constexpr std::size_t mebibyte = 1024 * kibibyte;

}  // namespace tutti

// Exchange through shared memory, between processes of one host. Any size passes through bounded slabs, chunk by chunk.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/engines/rendezvous.h"
#include "tutti/mesh/engines/shared_segment.h"

namespace tutti {

struct SharedExchangeOptions {
  std::size_t slab = std::size_t{256} << 10U;  // what a member can show the others at a time, in bytes; the same on all
};

// Time is cut into intervals by steps, which nobody passes before all have come. In an interval a member writes its own slab of
// the interval's parity and reads the others' of the one before: two slabs each are enough, and one step per chunk.
class SharedExchange final : public Exchange {
 public:
  // Member 0 makes the segment.
  static std::unique_ptr<SharedExchange> open(Rendezvous& rendezvous, const std::string& key, int size, int index,
                                              Deadline deadline, const SharedExchangeOptions& options = {});
  static std::size_t bytes_for(int size, const SharedExchangeOptions& options) noexcept;
  // Of a segment of bytes_for(size, options), zero at first.
  SharedExchange(SharedSegment segment, int size, int index, const SharedExchangeOptions& options);

  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] int index() const noexcept override { return index_; }

  void all_reduce(const void* in, void* out, std::size_t count, DType dtype, Reduction reduction, Deadline deadline) override;
  void reduce_scatter(const void* in, void* out, std::size_t count_each, DType dtype, Reduction reduction,
                      Deadline deadline) override;
  void broadcast(const void* in, void* out, std::size_t bytes, int root, Deadline deadline) override;
  void all_gather(const void* in, void* out, std::size_t bytes_each, Deadline deadline) override;
  void all_to_all(const void* in, void* out, std::size_t bytes_each, Deadline deadline) override;
  void fail(const char* why) noexcept override;

 private:
  struct Shared;
  struct Line;

  // What is asked, for messages.
  struct Asked {
    const char* name;
    std::size_t bytes;
    Deadline deadline;
  };
  struct Chunk {
    std::size_t from = 0;
    std::size_t length = 0;
  };
  [[nodiscard]] Line& line(int member) const noexcept;
  // Its slab, and behind it its part of a reduced chunk.
  [[nodiscard]] std::byte* slab(int member, std::uint64_t step) const noexcept;
  void step(const Asked& asked);
  void check(const Asked& asked) const;
  void give_up(std::string_view why) noexcept;
  [[noreturn]] void throw_late(const Asked& asked);
  [[noreturn]] void throw_failed(const Asked& asked) const;
  [[nodiscard]] std::string describe(const Asked& asked) const;
  // Chunk after chunk: written by this member, then, a step later, read from the others.
  template <class Write, class Read>
  void pass(const Asked& asked, std::size_t total, std::size_t most, Write&& write, Read&& read);
  void all_reduce_at_once(const Asked& asked, const void* in, void* out, std::size_t count, DType dtype, Reduction reduction);
  void all_reduce_shared_out(const Asked& asked, const void* in, void* out, std::size_t count, DType dtype, Reduction reduction);

  SharedSegment segment_;
  Shared* shared_;
  int size_;
  int index_;
  std::size_t slab_;
  std::uint64_t step_ = 0;
  std::atomic<bool> has_given_up_ = false;
};

}  // namespace tutti

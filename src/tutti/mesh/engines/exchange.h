// Processes that exchange bytes: what an engine (shared memory, sockets, NCCL) must be able to do. Calls block, so a thread of
// the mesh makes them; every member makes the same calls in the same order, which a roll call has made sure of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tutti/base/clock.h"
#include "tutti/base/error.h"
#include "tutti/tensor/dtype.h"

namespace tutti {

// Rules as for the ops of these names: integers wrap, f16 and bf16 are worked on in f32, a NaN wins, mean takes floating dtypes,
// and bool takes min and max only. Elements are combined in the order of the members.
enum class Reduction : std::uint8_t { sum, mean, min, max, prod };

// A member was lost or gave up. The exchange is of no more use; another one is to be made.
struct ExchangeFailed : Error {
  using Error::Error;
};

class Exchange {
 public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;

  [[nodiscard]] virtual int size() const noexcept = 0;
  [[nodiscard]] virtual int index() const noexcept = 0;  // this process's among them

  // The result has the same bits on every member, and does not depend on who came first. `out` may be `in`, and overlaps it in no
  // other way. Throws DTypeError before anything is sent, DeadlineExceeded, ExchangeFailed.
  virtual void all_reduce(const void* in, void* out, std::size_t count, DType dtype, Reduction reduction, Deadline deadline) = 0;
  virtual void reduce_scatter(const void* in, void* out, std::size_t count_each, DType dtype, Reduction reduction,
                              Deadline deadline) = 0;
  // Of `in`, the root's alone is read.
  virtual void broadcast(const void* in, void* out, std::size_t bytes, int root, Deadline deadline) = 0;
  virtual void all_gather(const void* in, void* out, std::size_t bytes_each, Deadline deadline) = 0;
  virtual void all_to_all(const void* in, void* out, std::size_t bytes_each, Deadline deadline) = 0;

  // From any thread: what is in progress, and every later call, throws with this.
  virtual void fail(const char* why) noexcept = 0;
};

}  // namespace tutti

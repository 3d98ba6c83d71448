// Launches in a row that a device runs as one: recorded once from the calls that would launch them, launched any number of times.
// Only for hardware with graphs of its own; a stream of threads runs such a row as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tutti/hal/device.h"

namespace tutti {

class StreamGraph {
 public:
  StreamGraph() = default;
  StreamGraph(const StreamGraph&) = delete;
  StreamGraph& operator=(const StreamGraph&) = delete;
  virtual ~StreamGraph() = default;

  // Where work is issued, by one thread at a time, with these values in place of those it was made with. Throws KernelFailed.
  // Returns what finish() is to be given.
  virtual void* launch(DeviceStream& stream, std::span<const std::uint64_t> values, Site site) = 0;
  // What a kernel has noted of bad input.
  struct Complaint {
    std::size_t call;
    std::string reason;
  };
  // Once that launch is done.
  virtual std::vector<Complaint> finish(void* launched) = 0;
};

// Values that one graph can be given.
inline constexpr std::size_t most_graph_values = 31;

// Hands one of the calls over with these values: addresses, counts of drawn numbers. May throw.
using IssueWith = std::function<void(std::size_t call, std::span<const std::uint64_t> values)>;

class StreamGraphs {
 public:
  // What `issue` launches on the stream, which nobody else uses meanwhile, is recorded and not run: so many calls, each of which
  // can_make() has approved of. `after`, by call: the earlier ones it has to wait for; empty: one call after the other. Null: it
  // cannot be a graph, or cannot be given other values.
  virtual std::unique_ptr<StreamGraph> make(DeviceStream& stream, std::size_t calls, std::span<const std::uint64_t> values,
                                            const IssueWith& issue, std::span<const std::vector<std::size_t>> after,
                                            Site site) = 0;
  // Could one call, with the values it uses, be a part of a graph?
  virtual bool can_make(DeviceStream& stream, std::span<const std::uint64_t> values, const IssueWith& issue, Site site) = 0;

 protected:
  ~StreamGraphs() = default;
};

// It lives for ever.
void register_stream_graphs(BackendKind backend, StreamGraphs& graphs) noexcept;
// Null: devices of that kind have none.
StreamGraphs* stream_graphs(BackendKind backend) noexcept;

}  // namespace tutti

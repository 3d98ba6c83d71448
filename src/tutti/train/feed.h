// Batches on their way to the devices of a model: shared out over its replicas, ahead of time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "tutti/exec/stream.h"
#include "tutti/train/batches.h"
#include "tutti/train/mirrored_strategy.h"

namespace tutti::detail {

// A batch as the replicas of this process get it.
struct SharedBatch {
  std::vector<Batches::Tensors> parts;
  std::int64_t rows = 0;  // of the whole batch

  [[nodiscard]] std::int64_t rows_here() const {
    std::int64_t out = 0;
    for (const Batches::Tensors& part : parts) out += rows_of(part);
    return out;
  }
  static std::int64_t rows_of(const Batches::Tensors& part) { return part[0].rank() == 0 ? 1 : part[0].shape()[0]; }
};

// Where batches go, and on which streams: one of its own on every GPU.
class Destination {
 public:
  // Without a strategy: one device.
  Destination(std::optional<MirroredStrategy> strategy, std::string device, Site site);

  // Every batch from a place to the end of the epoch.
  class Feed {
   public:
    Feed(const Destination& to, const Batches& data, const DatasetPosition& from, Site site)
        : to_(to), pass_(data.from(from)), is_made_on_host_(!data.is_prefetched()), site_(site) {}
    // Nothing: the epoch is over.
    std::optional<SharedBatch> next();

   private:
    const Destination& to_;
    std::unique_ptr<Batches::Pass> pass_;
    bool is_made_on_host_;
    Site site_;
    std::deque<SharedBatch> ahead_;
  };

  // The data set, prefetched to the device where that is one and not the CPU.
  [[nodiscard]] Batches prefetched(const Batches& data, Site site) const;

 private:
  [[nodiscard]] SharedBatch shared_out(Batches::Tensors batch, Site site) const;

  std::optional<MirroredStrategy> strategy_;
  std::string device_;
  std::vector<Stream> streams_;
};

}  // namespace tutti::detail

// Exchange between GPUs through NCCL: one GPU for each member, and every address is memory of it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/engines/rendezvous.h"

namespace tutti {

struct NcclExchangeOptions {
  std::size_t workspace = std::size_t{32} << 20U;  // bytes on the GPU in which parts of members are combined; the same on all
};

class NcclExchange : public Exchange {
 public:
  // Lets what this member has sent arrive and takes leave of the others. A call in progress is left alone.
  virtual void close(Deadline deadline) noexcept = 0;
};

// Whether this build has NCCL.
bool has_nccl() noexcept;
// Why this process cannot use it; empty: it can. Opens the library the first time.
const std::string& why_no_nccl();

// The same text for the same GPU in every process, and another one for every other.
std::string gpu_identity(int ordinal);

// Every member meets every other. Throws DeadlineExceeded, ExchangeFailed, and InvalidState where NCCL is not to be had.
std::unique_ptr<NcclExchange> open_nccl_exchange(Rendezvous& rendezvous, const std::string& key, int size, int index, int ordinal,
                                                 Deadline deadline, const NcclExchangeOptions& options = {});

// For GPUs that cannot meet through NCCL: memory of this GPU, exchanged through an exchange of host memory, which outlives it.
std::unique_ptr<Exchange> stage_through_host(Exchange& host, int ordinal);

}  // namespace tutti

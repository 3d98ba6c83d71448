// Stands in for the rest of this folder in a build without CUDA or NCCL.
#include "tutti/base/error.h"
#include "tutti/mesh/nccl/nccl_exchange.h"

namespace tutti {

namespace {

[[noreturn]] void refuse() { throw InvalidState(why_no_nccl(), Site()); }

}  // namespace

bool has_nccl() noexcept { return false; }

const std::string& why_no_nccl() {
  static const std::string& words = *new std::string(
      "GPUs of several processes exchange tensors through NCCL, which this build of tutti was made without: install the CUDA "
      "toolkit and nccl.h (Debian: libnccl-dev) and build again.");
  return words;
}

std::string gpu_identity(int /*ordinal*/) { refuse(); }

std::unique_ptr<NcclExchange> open_nccl_exchange(Rendezvous& /*rendezvous*/, const std::string& /*key*/, int /*size*/,
                                                 int /*index*/, int /*ordinal*/, Deadline /*deadline*/,
                                                 const NcclExchangeOptions& /*options*/) {
  refuse();
}

std::unique_ptr<Exchange> stage_through_host(Exchange& /*host*/, int /*ordinal*/) { refuse(); }

}  // namespace tutti

// Several processes of one test that share one GPU. NCCL wants a GPU for each and takes processes for those of one host by
// NCCL_HOSTID: told that each has a host of its own, it lets them share, and goes over loopback sockets.
#pragma once

#include <functional>
#include <string>

#include "engines/processes.h"
#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/nccl/nccl_exchange.h"

namespace tutti::testing_nccl {

using testing_engines::Blackboard;
using testing_engines::in;
using testing_engines::Processes;
using testing_engines::require;

// Why nothing here can run; empty: it can. Asked by a process of its own: who has used CUDA cannot fork.
std::string why_not();

// In a child, before anything of CUDA is used.
void take_a_host_of_its_own(int index);

// The process's member of an exchange between `size` of them, each on GPU 0, with a small workspace: several chunks where the
// tests' largest are combined.
std::unique_ptr<NcclExchange> open_on_gpu(Rendezvous& board, const std::string& key, int size, int index,
                                          std::chrono::milliseconds limit = std::chrono::seconds(60));

}  // namespace tutti::testing_nccl

// First in a test.
#define TUTTI_NEED_GPU_AND_NCCL() \
  if (const std::string why = tutti::testing_nccl::why_not(); !why.empty()) GTEST_SKIP() << why

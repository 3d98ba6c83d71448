#include "nccl/gpu_processes.h"

#include <cstdlib>

#include "tutti/tutti.h"

namespace tutti::testing_nccl {

namespace {

enum Found : int { all = 0, no_gpu = 11, no_nccl = 12 };

}  // namespace

std::string why_not() {
  if (!has_nccl()) return why_no_nccl();
  Processes asked(1, [](int) {
    simulate_gpus(0);
    const std::vector<PhysicalDevice> gpus = list_physical_devices("GPU");
    if (gpus.empty() || get_device_details(gpus.front()).backend != "cuda") ::_Exit(no_gpu);
    ::_Exit(why_no_nccl().empty() ? all : no_nccl);
  });
  switch (asked.status(0)) {
    case all: return {};
    case no_gpu: return "no CUDA GPU here";
    case no_nccl: return "libnccl.so.2 cannot be opened here; put its folder in LD_LIBRARY_PATH";
    default: break;
  }
  return {};  // the test itself will say what is wrong
}

void take_a_host_of_its_own(int index) {
  ::setenv("NCCL_HOSTID", ("host " + std::to_string(index)).c_str(), 1);
  ::setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  ::setenv("NCCL_NET", "Socket", 1);
  simulate_gpus(0);
}

std::unique_ptr<NcclExchange> open_on_gpu(Rendezvous& board, const std::string& key, int size, int index,
                                          std::chrono::milliseconds limit) {
  return open_nccl_exchange(board, key, size, index, 0, in(limit), {.workspace = std::size_t{64} << 10U});
}

}  // namespace tutti::testing_nccl

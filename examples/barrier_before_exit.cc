// The example of *DTensor barrier*: a barrier before the program ends, so that no process goes while others still need it.
// On one process, or on several: tutti launch -n 3 -- ./barrier_before_exit
#include <iostream>

#include "gpus.h"

namespace tt = tutti;
using namespace std::chrono_literals;

int main() {
  simulate_gpus_where_there_is_none();
  const tt::Mesh mesh = tt::create_distributed_mesh({{"batch", -1}}, {"GPU:0"});

  const tt::Tensor whole = tt::arange(3 * tt::process_count());
  const tt::ShardedTensor x =
      tt::relayout(tt::shard(whole, tt::Layout::replicated(mesh, 1)), tt::Layout::batch_sharded(mesh, "batch", 1));
  try {
    tt::barrier(mesh, {.name = "before exit", .timeout = 30s});
  } catch (const tt::MeetingFailed& e) {
    std::cerr << e.what() << '\n';  // who is missing, and what each of them was last seen doing
    return 1;
  }
  // All devices of all processes of the mesh have completed what was asked of them before the barrier: they may be torn down.
  std::cout << "rank " << tt::process_rank() << " of " << tt::process_count() << " holds " << x.shards()[0] << '\n';
}

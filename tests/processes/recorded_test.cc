// A record of collectives over several processes, run again by all of them on fresh inputs, gives the plain run's values.
#include <gtest/gtest.h>

#include <vector>

#include "conformance/recorder.h"
#include "processes/job.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

// What the devices of this process bring: other numbers for other keys, and on other devices.
std::vector<Tensor> brought(const Mesh& mesh, std::uint64_t key) {
  std::vector<Tensor> out;
  for (const std::size_t position : mesh.local_positions()) out.push_back(uniform({4, 6}, {.key = key + position}));
  return out;
}

std::vector<Tensor> every_kind(const std::vector<Tensor>& mine, const Mesh& mesh) {
  std::vector<Tensor> out;
  for (const std::vector<Tensor>& some :
       {all_reduce(mine, mesh, "x", Reduction::sum), broadcast(mine, mesh, "x", 1), all_gather(mine, mesh, "x", 0),
        reduce_scatter(mine, mesh, "x", 0, Reduction::max), all_to_all(mine, mesh, "x", 0, 1)})
    out.insert(out.end(), some.begin(), some.end());
  return out;
}

}  // namespace

TEST(RecordedCollectives, OfTwoProcessesRunAgainOnFreshInputs) {
  Job job(2, [](int) {
    simulate_gpus(2);
    const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0", "GPU:1"});
    const std::vector<Tensor> recorded_with = brought(mesh, 100);
    const std::vector<Tensor> fresh = brought(mesh, 200);
    conformance::Recorder recorder;
    for (const Tensor& each : recorded_with) recorder.add_input(each);
    std::vector<Tensor> recorded;
    {
      const ExecutorScope scope(recorder);
      recorded = every_kind(recorded_with, mesh);
    }
    require_in(recorder.text(), "AllReduce(");
    const std::vector<Tensor> plain = every_kind(fresh, mesh);
    const std::vector<Tensor> values = recorder.replay(fresh);
    for (std::size_t i = 0; i < plain.size(); ++i) {
      require(recorder.has(recorded[i]), "a result was made by no call that was seen");
      require(read<float>(plain[i]) == read<float>(values[recorder.slot_of(recorded[i])]), "the values differ");
      require(read<float>(plain[i]) != read<float>(recorded[i]), "the inputs are fresh");
    }
  });
  job.expect_success();
}

}  // namespace tutti

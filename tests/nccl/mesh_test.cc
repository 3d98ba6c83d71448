// A mesh of processes with a GPU each: collectives go from GPU to GPU, give what the host would, and fail as it would.
#include "tutti/mesh/collectives.h"

#include <gtest/gtest.h>

#include <csignal>
#include <mutex>

#include "nccl/gpu_processes.h"
#include "processes/job.h"
#include "tutti/tutti.h"

namespace tutti::testing_nccl {

namespace {

using namespace testing_processes;
using testing_engines::require;

// What the mesh says of the way it goes.
class Said {
 public:
  Said() {
    set_log_level(LogLevel::debug);
    set_log_sink([this](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex_);
      text_ += std::string(line) + "\n";
    });
  }
  ~Said() { set_log_sink({}); }
  Said(const Said&) = delete;
  Said& operator=(const Said&) = delete;
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

Mesh line_of_gpus() { return create_distributed_mesh({{"x", -1}}, {"GPU:0"}); }

Tensor brought_by(std::int64_t rank, const Shape& shape, DType dtype) {
  return cast(add(multiply(reshape(arange(*element_count(shape)), shape), 0.1), static_cast<double>(rank) / 3), dtype);
}

std::vector<double> numbers(const Tensor& x) { return read<double>(cast(x, DType::f64)); }

void require_same(const Tensor& got, const Tensor& expected, const std::string& what) {
  require(numbers(got) == numbers(expected), what);
}

bool is_on_gpu(const Tensor& x) { return x.device().find("GPU") != std::string::npos; }

// All kinds, against ops of one process on the same GPU.
void check_all_kinds(const Mesh& mesh, int rank, int world) {
  const Shape shape{2 * world, 3};
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32}) {
    const std::string what(to_string(dtype));
    std::vector<Tensor> all;
    for (int k = 0; k < world; ++k) all.push_back(brought_by(k, shape, dtype));
    const std::vector<Tensor> mine{all[static_cast<std::size_t>(rank)]};
    const Range own{2 * rank, 2 * rank + 2};
    const Tensor sum = all_reduce(mine, mesh, "x", Reduction::sum)[0];
    require(is_on_gpu(sum), "the result is on the GPU");
    require_same(sum, add_n(all), what + ": all_reduce");
    require_same(all_gather(mine, mesh, "x", 0)[0], concat(all, 0), what + ": all_gather");
    require_same(broadcast(mine, mesh, "x", world - 1)[0], all.back(), what + ": broadcast");
    require_same(reduce_scatter(mine, mesh, "x", 0, Reduction::max)[0], slice(all.back(), 0, own), what + ": reduce_scatter");
    std::vector<Tensor> columns;
    for (const Tensor& each : all) columns.push_back(slice(each, 0, own));
    require_same(all_to_all(mine, mesh, "x", 0, 1)[0], concat(columns, 1), what + ": all_to_all");
  }
}

}  // namespace

TEST(MeshOfGpus, ExchangesFromGpuToGpu) {
  TUTTI_NEED_GPU_AND_NCCL();
  Job job(2, [](int rank) {
    take_a_host_of_its_own(rank);
    Said said;
    const Mesh mesh = line_of_gpus();
    const DeviceScope on("GPU:0");
    for (int round = 0; round < 3; ++round) check_all_kinds(mesh, rank, 2);
    require_in(said.text(), "from GPU to GPU");
    const Tensor mean = all_reduce({brought_by(rank, {100}, DType::bf16)}, mesh, "x", Reduction::mean)[0];
    const Tensor both =
        add(cast(brought_by(0, {100}, DType::bf16), DType::f32), cast(brought_by(1, {100}, DType::bf16), DType::f32));
    require_same(mean, cast(divide(both, 2.0), DType::bf16), "a mean of halves is made in f32");
    barrier(mesh, {.timeout = 30s});
  });
  job.expect_success();
}

TEST(MeshOfGpus, GoesThroughTheHostWhereProcessesShareAGpuAndSaysSo) {
  TUTTI_NEED_GPU_AND_NCCL();
  Job job(2, [](int rank) {
    simulate_gpus(0);
    Said said;
    const Mesh mesh = line_of_gpus();
    const DeviceScope on("GPU:0");
    for (int round = 0; round < 2; ++round) check_all_kinds(mesh, rank, 2);
    require_in(said.text(), "through the host: rank 0 and rank 1 are on one GPU");
    barrier(mesh, {.timeout = 30s});
  });
  job.expect_success();
}

TEST(MeshOfGpus, ReturnsBeforeTheOthersHaveComeAndMakesNoSync) {
  TUTTI_NEED_GPU_AND_NCCL();
  const Witness<Board> board;
  Job job(2, [&](int rank) {
    take_a_host_of_its_own(rank);
    const Mesh mesh = line_of_gpus();
    const DeviceScope on("GPU:0");
    const Tensor mine = brought_by(rank, {1000}, DType::f32);
    if (rank == 1) await_at_least(board->stage, 1);
    Tensor got;
    {
      const SyncScope strict(OnSync::error);
      got = all_reduce({mine}, mesh, "x", Reduction::sum)[0] * 2;
    }
    board->stage = 1;  // rank 0 comes here before rank 1 has begun
    require_same(got, (brought_by(0, {1000}, DType::f32) + brought_by(1, {1000}, DType::f32)) * 2, "sum");
    barrier(mesh, {.timeout = 30s});
  });
  job.expect_success();
}

TEST(MeshOfGpus, PrintsBothSidesWhereShapesDifferAndGoesOn) {
  TUTTI_NEED_GPU_AND_NCCL();
  Job job(2, [](int rank) {
    take_a_host_of_its_own(rank);
    const Mesh mesh = line_of_gpus();
    const DeviceScope on("GPU:0");
    const Tensor got = all_reduce({ones({rank == 0 ? 3 : 4})}, mesh, "x", Reduction::sum)[0];
    const std::string what = thrown_by<Error>([&] { (void)numbers(got); }, 20s);
    require_in(what, "AllReduce sum of float32 (3)");  // the report is folded behind it
    require_in(what, "AllReduce sum of float32 (4)");
    require_same(all_reduce({ones({5})}, mesh, "x", Reduction::sum)[0], full({5}, 2.F, DType::f32), "it can be tried again");
    clear_errors();  // a sync would tell of the first one again
    barrier(mesh, {.timeout = 30s});
  });
  job.expect_success();
}

TEST(MeshOfGpus, FailsWithTheNameOfARankThatDied) {
  TUTTI_NEED_GPU_AND_NCCL();
  const Witness<Board> board;
  Job job(2, [&](int rank) {
    take_a_host_of_its_own(rank);
    const Mesh mesh = line_of_gpus();
    const DeviceScope on("GPU:0");
    (void)numbers(all_reduce({ones({1000})}, mesh, "x", Reduction::sum)[0]);
    if (rank == 1) {
      board->stage = 1;
      for (;;) ::pause();
    }
    const Tensor got = all_reduce({ones({1000})}, mesh, "x", Reduction::sum)[0];
    require_in(thrown_by<Error>([&] { (void)numbers(got); }, 20s), "rank 1");
    require(item<float>(sum(ones({10}))) == 10, "the GPU goes on");
  });
  await_at_least(board->stage, 1);
  job.signal(1, SIGKILL);
  EXPECT_EQ(job.status(0), 0);
}

}  // namespace tutti::testing_nccl

// Collectives and sharded ops over the devices of several processes: the same values as in one, the same bits on every rank.
#include "tutti/mesh/collectives.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "processes/job.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

constexpr int devices_each = 2;

// Two simulated GPUs for each process; dimension x runs over all of them.
Mesh line_of_all() {
  simulate_gpus(devices_each);
  return create_distributed_mesh({{"x", -1}}, {"GPU:0", "GPU:1"});
}

// What device k brings: numbers that a sum in another order would round differently.
Tensor brought_by(std::int64_t k, const Shape& shape, DType dtype) {
  return cast(add(multiply(reshape(arange(*element_count(shape)), shape), 0.1), static_cast<double>(k) / 3), dtype);
}

std::vector<Tensor> local_parts(const Mesh& mesh, const Shape& shape, DType dtype) {
  std::vector<Tensor> out;
  for (const std::size_t position : mesh.local_positions())
    out.push_back(brought_by(static_cast<std::int64_t>(position), shape, dtype));
  return out;
}

// In double precision, from what all devices bring.
std::vector<double> serial_sum(const Mesh& mesh, const Shape& shape, DType dtype) {
  Tensor out = zeros(shape, DType::f64);
  for (std::size_t k = 0; k < mesh.size(); ++k)
    out = add(out, cast(brought_by(static_cast<std::int64_t>(k), shape, dtype), DType::f64));
  return read<double>(out);
}

void require_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  require(a.size() == b.size(), "sizes differ");
  for (std::size_t i = 0; i < a.size(); ++i) {
    require(std::abs(a[i] - b[i]) <= tolerance * (1 + std::abs(b[i])),
            "element " + std::to_string(i) + ": " + std::to_string(a[i]) + " and " + std::to_string(b[i]));
  }
}

std::vector<double> numbers(const Tensor& x) { return read<double>(cast(x, DType::f64)); }

// The bits of a result, shown to the other processes.
struct Shown {
  std::atomic<std::uint64_t> hash[8];
};

std::uint64_t hash_of(const std::vector<double>& values) {
  std::uint64_t hash = 1469598103934665603ULL;
  for (const double value : values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 1099511628211ULL;
  }
  return hash;
}

class CollectivesOf : public testing::TestWithParam<int> {};

}  // namespace

TEST_P(CollectivesOf, AllReduceGivesTheSumAndTheSameBitsOnEveryRank) {
  const int world = GetParam();
  const Witness<Shown> shown;
  Job job(world, [&](int rank) {
    const Mesh mesh = line_of_all();
    std::uint64_t bits = 0;
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i32}) {
      for (const std::int64_t count : {1, 7, 1000, 20'000}) {
        const Shape shape{count};
        const std::vector<Tensor> got = all_reduce(local_parts(mesh, shape, dtype), mesh, "x", Reduction::sum);
        require(got.size() == devices_each, "one for each device");
        const double tolerance = dtype == DType::f16 ? 1e-2 : dtype == DType::f32 ? 1e-5 : 1e-12;
        for (const Tensor& each : got) {
          require_near(numbers(each), serial_sum(mesh, shape, dtype), tolerance);
          bits ^= hash_of(numbers(each)) * 31;
        }
        require(hash_of(numbers(got[0])) == hash_of(numbers(got[1])), "bits differ between devices");
        bits += hash_of(numbers(got[0]));
      }
    }
    shown->hash[rank] = bits;
    barrier(mesh, {.timeout = 30s});
    for (int other = 0; other < world; ++other) require(shown->hash[other] == bits, "bits differ between ranks");
  });
  job.expect_success();
}

TEST_P(CollectivesOf, AllKindsAgreeWithOneProcess) {
  const int world = GetParam();
  Job job(world, [&](int) {
    const Mesh mesh = line_of_all();
    const auto n = static_cast<std::int64_t>(mesh.size());
    const Shape shape{2 * n, 3};
    const std::vector<Tensor> mine = local_parts(mesh, shape, DType::f64);
    std::vector<Tensor> all;
    for (std::int64_t k = 0; k < n; ++k) all.push_back(brought_by(k, shape, DType::f64));
    const std::vector<Tensor> gathered = all_gather(mine, mesh, "x", 0);
    const std::vector<Tensor> sent = broadcast(mine, mesh, "x", n - 1);
    const std::vector<Tensor> scattered = reduce_scatter(mine, mesh, "x", 0, Reduction::max);
    const std::vector<Tensor> turned = all_to_all(mine, mesh, "x", 0, 1);
    const std::vector<Tensor> mean = all_reduce(mine, mesh, "x", Reduction::mean);
    const Tensor average = divide(add_n(all), static_cast<double>(n));
    for (std::size_t i = 0; i < mine.size(); ++i) {
      const auto at = static_cast<std::int64_t>(mesh.local_positions()[i]);
      const Range own{2 * at, 2 * at + 2};
      require_near(numbers(gathered[i]), numbers(concat(all, 0)), 0);
      require_near(numbers(sent[i]), numbers(all.back()), 0);
      require_near(numbers(scattered[i]), numbers(slice(all.back(), 0, own)), 0);
      std::vector<Tensor> columns;
      for (const Tensor& each : all) columns.push_back(slice(each, 0, own));
      require_near(numbers(turned[i]), numbers(concat(columns, 1)), 0);
      require_near(numbers(mean[i]), numbers(average), 1e-12);
    }
  });
  job.expect_success();
}

TEST_P(CollectivesOf, AShardedProductIsThatOfOneProcess) {
  const int world = GetParam();
  Job job(world, [&](int) {
    const Mesh mesh = line_of_all();
    const auto n = static_cast<std::int64_t>(mesh.size());
    const Tensor a = brought_by(1, {6, 2 * n}, DType::f64);
    const Tensor b = brought_by(2, {2 * n, 5}, DType::f64);
    const ShardedTensor contracted =
        matmul(shard(a, Layout::inner_sharded(mesh, "x", 2)), shard(b, Layout::batch_sharded(mesh, "x", 2)));
    require_near(numbers(to_tensor(contracted, "CPU:0")), numbers(matmul(a, b)), 1e-12);
    const Tensor tall = brought_by(3, {2 * n, 4}, DType::f64);
    const ShardedTensor rows = shard(tall, Layout::batch_sharded(mesh, "x", 2));
    require_near(numbers(to_tensor(sum(rows), "CPU:0")), numbers(sum(tall)), 1e-12);
    require_near(numbers(to_tensor(relayout(rows, Layout::replicated(mesh, 2)), "CPU:0")), numbers(tall), 0);
  });
  job.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Processes, CollectivesOf, testing::Values(2, 3), testing::PrintToStringParamName());

TEST(ProcessCollectives, ReturnBeforeTheOthersHaveComeAndMakeNoSync) {
  const Witness<Board> board;
  Job job(2, [&](int rank) {
    const Mesh mesh = line_of_all();
    const std::vector<Tensor> mine = local_parts(mesh, {100}, DType::f32);
    if (rank == 1) await_at_least(board->stage, 1);
    std::vector<Tensor> got;
    {
      const SyncScope strict(OnSync::error);
      got = all_reduce(mine, mesh, "x", Reduction::sum);
      got[0] = got[0] * 2;
    }
    board->stage = 1;  // rank 0 comes here before rank 1 has begun
    require_near(numbers(got[0]), numbers(got[1] * 2), 0);
  });
  job.expect_success();
}

TEST(ProcessCollectives, GiveTheHostASmallResultWithoutAnotherCopy) {
  Job job(2, [&](int) {
    const Mesh mesh = line_of_all();
    const std::vector<Tensor> got = all_reduce(local_parts(mesh, {4}, DType::f64), mesh, "x", Reduction::sum);
    const std::vector<double> expected = serial_sum(mesh, {4}, DType::f64);
    journal::start();
    const std::vector<double> found = read<double>(got[0]);
    journal::stop();
    require_near(found, expected, 1e-12);
    for (const journal::ThreadEvents& thread : journal::snapshot().threads) {
      for (const journal::Event& event : thread.events)
        require(event.kind != journal::EventKind::enqueue || event.name != std::string("_Copy"), "the host has it already");
    }
    require_near(numbers(got[0] * 2), numbers(got[1] + got[0]), 1e-12);
  });
  job.expect_success();
}

TEST(ProcessCollectives, PrintBothSidesWhereShapesDiffer) {
  Job job(2, [&](int rank) {
    const Mesh mesh = line_of_all();
    const std::vector<Tensor> got = all_reduce(local_parts(mesh, {rank == 0 ? 3 : 4}, DType::f32), mesh, "x", Reduction::sum);
    const std::string what = thrown_by<MeetingMismatch>([&] { (void)numbers(got[0]); }, 20s);
    require_in(what, "members came for different things: rank 0: AllReduce sum of float32 (3) at");
    require_in(what, "rank 1: AllReduce sum of float32 (4) at");
    // The others go on.
    const std::vector<Tensor> again = all_reduce(local_parts(mesh, {5}, DType::f32), mesh, "x", Reduction::sum);
    require(numbers(again[0]).size() == 5, "it can be tried again");
  });
  job.expect_success();
}

TEST(ProcessCollectives, ThatFailedAndWereReadAreNotToldAgainByABarrier) {
  Job job(2, [&](int rank) {
    const Mesh mesh = line_of_all();
    const std::vector<Tensor> mine = local_parts(mesh, {rank == 0 ? 4 : 8}, DType::f32);  // not of one shape
    const std::vector<std::vector<Tensor>> all{all_reduce(mine, mesh, "x", Reduction::sum),
                                               all_reduce(mine, mesh, "x", Reduction::mean),
                                               all_gather(mine, mesh, "x", 0),
                                               broadcast(mine, mesh, "x", 0),
                                               reduce_scatter(mine, mesh, "x", 0, Reduction::max),
                                               all_to_all(mine, mesh, "x", 0, 0)};
    for (const std::vector<Tensor>& got : all) (void)thrown_by<MeetingMismatch>([&] { (void)read<float>(got[0]); }, 20s);
    barrier(mesh, {.name = "told", .timeout = 60s});
    sync_devices();
    (void)thrown_by<MeetingMismatch>([&] { (void)read<float>(all[0][1]); }, 20s);
    const std::vector<Tensor> not_read = all_reduce(mine, mesh, "x", Reduction::mean);
    (void)thrown_by<MeetingMismatch>([&] { barrier(mesh, {.name = "news", .timeout = 60s}); }, 60s);
    barrier(mesh, {.name = "told again", .timeout = 60s});
    (void)thrown_by<MeetingMismatch>([&] { (void)read<float>(not_read[0]); }, 20s);
    barrier(mesh, {.name = "read after all", .timeout = 60s});
  });
  job.expect_success();
}

TEST(ProcessCollectives, AreNamedAsTheProgramCalledThem) {
  Job job(2, [&](int rank) {
    const Mesh mesh = line_of_all();
    const Reduction mine = rank == 0 ? Reduction::mean : Reduction::sum;
    const Tensor got = all_reduce(local_parts(mesh, {3}, DType::f32), mesh, "x", mine)[0];
    const std::string what = thrown_by<MeetingMismatch>([&] { (void)numbers(got); }, 20s);
    require_in(what, "AllReduce mean of float32 (3)");
    require_in(what, "AllReduce sum of float32 (3)");
    const Tensor part = reduce_scatter(local_parts(mesh, {4}, DType::f32), mesh, "x", 0, mine)[0];
    require_in(thrown_by<Error>([&] { (void)numbers(part); }, 20s), "ReduceScatter mean of float32");
  });
  job.expect_success();
}

TEST(ProcessCollectives, OfOneSimulatedGpuEachGoThroughTheHost) {
  Job job(2, [&](int rank) {
    std::mutex mutex;
    std::string said;
    set_log_level(LogLevel::debug);
    set_log_sink([&](LogLevel, std::string_view line) {
      const std::lock_guard lock(mutex);
      said += line;
    });
    simulate_gpus(1);
    const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
    const Tensor got = all_reduce({brought_by(rank, {1000}, DType::f32)}, mesh, "x", Reduction::sum)[0];
    require_near(numbers(got), serial_sum(mesh, {1000}, DType::f32), 1e-5);
    barrier(mesh, {.timeout = 30s});
    set_log_sink({});
    require_in(said, "world exchanges tensors of GPU:0, GPU:0 through the host: rank 0: its device is a sim one");
  });
  job.expect_success();
}

TEST(ProcessCollectives, FailWithTheNameOfARankThatDied) {
  const Witness<Board> board;
  Job job(3, [&](int rank) {
    const Mesh mesh = line_of_all();
    barrier(mesh, {.timeout = 30s});
    const std::vector<Tensor> mine = local_parts(mesh, {1000}, DType::f32);
    (void)numbers(all_reduce(mine, mesh, "x", Reduction::sum)[0]);
    if (rank == 1) {
      board->stage = 1;
      for (;;) ::pause();
    }
    const std::vector<Tensor> got = all_reduce(mine, mesh, "x", Reduction::sum);
    const std::string what = thrown_by<MemberLost>([&] { (void)numbers(got[0]); }, 20s);
    require_in(what, "AllReduce sum of float32 (1000) of world");
    require_in(what, "rank 1 (");
    require(thrown_by<MemberLost>([&] { got[0].sync(); }, 20s) == what, "the value fails in one way");
    (void)thrown_by<MemberLost>([&] { barrier(mesh, {.timeout = 30s}); }, 20s);
    require(item<float>(sum(ones({10}))) == 10, "what needs no other process works on");
  });
  await_at_least(board->stage, 1);
  job.signal(1, SIGKILL);
  EXPECT_EQ(job.status(0), 0);
  EXPECT_EQ(job.status(2), 0);
}

TEST(ProcessCollectives, OfAProcessThatIsAloneSayHowToStartMore) {
  const Mesh mesh = create_distributed_mesh({{"x", 2}}, {"CPU:0"}, {.rank = 0, .world = 2});
  const std::string what = thrown_by<InvalidState>([&] { (void)all_reduce({ones({3})}, mesh, "x", Reduction::sum); }, 10s);
  require_in(what, "tutti launch -n 2");
}

}  // namespace tutti

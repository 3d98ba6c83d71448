// Order on the GPU: edges between streams, chains over the host, launches that have to wait, bounded run-ahead, time.
#include <unistd.h>

#include <fstream>
#include <set>
#include <thread>

#include "cuda/device_ops.h"
#include "cuda/gpu.h"
#include "streams/gate.h"

namespace tutti::testing_cuda {

namespace {

using namespace std::chrono_literals;
using testing_streams::Gate;

constexpr std::int64_t many = 1 << 16;

class GpuOrder : public OnGpu {
 protected:
  // Loads the kernels, so that none of the times below is that of loading.
  static void warm_up() { (void)item<std::int64_t>(sum(slow_copy(slow_fill({many}, 1, 0ms), 0ms) * 2 + 1)); }
};

std::int64_t resident_bytes() {
  std::int64_t total = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::uint64_t passages(SyncReason reason) {
  std::uint64_t calls = 0;
  for (const SyncTotals& entry : sync_totals()) calls += entry.reason == reason ? entry.calls : 0;
  return calls;
}

}  // namespace

TEST_F(GpuOrder, AConsumerOnAnotherStreamWaitsForASlowProducer) {
  warm_up();
  Stream producer("GPU:0");
  Stream consumer("GPU:0");
  for (std::int64_t round = 1; round <= 5; ++round) {
    Tensor made;
    {
      const StreamScope on(producer);
      made = slow_fill({many}, round, 20ms);
    }
    const StreamScope on(consumer);
    const Tensor used = sum(made * 2);
    EXPECT_FALSE(made.is_ready()) << "the producer was not slow enough for this to prove anything";
    EXPECT_EQ(item<std::int64_t>(used), 2 * many * round);
  }
}

TEST_F(GpuOrder, WithoutTheEdgeTheConsumerWouldSeeOldElements) {
  warm_up();
  Stream producer("GPU:0");
  Stream consumer("GPU:0");
  Tensor made;
  {
    const StreamScope on(producer);
    made = slow_fill({many}, 1, 100ms);
  }
  const StreamScope on(consumer);
  Tensor used;
  {
    const ManualOrder by_hand;
    used = sum(made);
  }
  EXPECT_NE(item<std::int64_t>(used), many) << "the tests above could not fail";
}

TEST_F(GpuOrder, MemoryIsNotReusedWhileAnotherStreamReadsIt) {
  warm_up();
  Stream maker("GPU:0");
  Stream reader("GPU:0");
  for (std::int64_t round = 1; round <= 5; ++round) {
    Tensor x;
    {
      const StreamScope on(maker);
      x = full({many}, round, DType::i64);
    }
    Tensor seen;
    {
      const StreamScope on(reader);
      seen = slow_copy(x, 10ms);
    }
    const StreamScope on(maker);
    x = {};
    const Tensor next = full({many}, -1, DType::i64);
    EXPECT_EQ(item<std::int64_t>(sum(seen)), many * round);
    EXPECT_EQ(item<std::int64_t>(sum(next)), -many);
  }
}

TEST_F(GpuOrder, AVariableIsNotOverwrittenWhileAnotherStreamReadsIt) {
  warm_up();
  Stream reader("GPU:0");
  Variable v(full({many}, 3, DType::i64));
  Tensor seen;
  {
    const StreamScope on(reader);
    seen = slow_copy(v.value(), 20ms);
  }
  v.assign(full({many}, 4, DType::i64));
  v.assign_add(1);
  EXPECT_EQ(item<std::int64_t>(sum(seen)), many * 3);
  EXPECT_EQ(item<std::int64_t>(sum(v.value())), many * 5);
}

TEST_F(GpuOrder, AnEventHoldsAStreamBack) {
  warm_up();
  Stream first("GPU:0");
  Stream second("GPU:0");
  Event made;
  Tensor x;
  {
    const StreamScope on(first);
    x = slow_fill({many}, 6, 30ms);
    made.record(first);
  }
  second.wait(made);
  EXPECT_FALSE(made.is_done());
  Tensor y;
  {
    const StreamScope on(second);
    const ManualOrder by_hand;
    y = sum(x);
  }
  EXPECT_EQ(item<std::int64_t>(y), many * 6);
  EXPECT_TRUE(made.is_done());
}

TEST_F(GpuOrder, ChainsOverTheHostAreRightWhenCpuOpsRunLater) {
  set_synchronous_execution(false);
  Stream stream("GPU:0");
  for (const std::int64_t size : {std::int64_t{1}, std::int64_t{1000}, std::int64_t{3} << 18U}) {
    Tensor x = zeros({size}, DType::i64);
    std::uint64_t expected = 0;
    for (std::uint64_t i = 0; i < 60; ++i) {
      if (i % 3 == 0) {
        const DeviceScope on("CPU:0");
        x = x * 3 + static_cast<std::int64_t>(i);
        expected = expected * 3 + i;
      } else if (i % 3 == 1) {
        x = x + 1;
        expected += 1;
      } else {
        const StreamScope on(stream);
        x = x * 5;
        expected *= 5;
      }
    }
    EXPECT_EQ(read<std::int64_t>(x),
              std::vector<std::int64_t>(static_cast<std::size_t>(size), static_cast<std::int64_t>(expected)));
  }
}

TEST_F(GpuOrder, WorkBehindACpuOpIsLaunchedLaterAndOtherStreamsGoOn) {
  set_synchronous_execution(false);
  warm_up();
  Stream first("GPU:0");
  Stream second("GPU:0");
  Gate gate;
  const Tensor one = gate.close("CPU:0");
  Tensor x;
  {
    const StreamScope on(first);
    x = copy_to(one, "GPU:0") + 1;  // 2
    x = x * 3;                      // 6
  }
  {
    const StreamScope on(second);
    x = x + 4;  // 10
  }
  Tensor y;
  {
    const StreamScope on(first);
    y = x * x;  // 100
  }
  Tensor back;
  {
    const StreamScope by(first);  // the copy to the CPU is the GPU's, on its current stream
    const DeviceScope on("CPU:0");
    back = y + 1;  // 101
  }
  gate.await_entered();
  EXPECT_EQ(item<float>(ones({}) + 1), 2) << "a stream that waits for nothing";
  EXPECT_FALSE(x.is_ready());
  EXPECT_FALSE(y.is_ready());
  EXPECT_FALSE(first.is_idle());
  gate.open();
  EXPECT_EQ(item<float>(back), 101);
  EXPECT_EQ(item<float>(y), 100);
}

TEST_F(GpuOrder, ADeferredFailureAndCancelResolve) {
  set_synchronous_execution(false);
  warm_up();
  Stream stream("GPU:0");
  Gate gate;
  const Tensor one = gate.close("CPU:0");
  Tensor x;
  {
    const StreamScope on(stream);
    x = copy_to(one, "GPU:0") + 1;
  }
  stream.cancel();
  gate.open();
  EXPECT_THROW((void)item<float>(x), Cancelled);
  const StreamScope on(stream);
  EXPECT_EQ(item<float>(ones({}) + 1), 2) << "the stream goes on";
  clear_errors();
}

TEST_F(GpuOrder, AHundredStreamsPassAValueOn) {
  std::vector<Stream> streams;
  for (int i = 0; i < 100; ++i) streams.emplace_back("GPU:0");
  Tensor x = zeros({1000}, DType::i64);
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const StreamScope on(streams[i * 37 % streams.size()]);
    x = x * 3 + static_cast<std::int64_t>(i);
    expected = expected * 3 + i;
  }
  EXPECT_EQ(read<std::int64_t>(x), std::vector<std::int64_t>(1000, static_cast<std::int64_t>(expected)));
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const StreamScope on(streams[i]);
    parts.push_back(slow_fill({10}, static_cast<std::int64_t>(i), 1ms));
  }
  EXPECT_EQ(read<std::int64_t>(add_n(parts)), std::vector<std::int64_t>(10, 4950));
}

TEST_F(GpuOrder, StreamsThatWereGivenBackAreLentAgainThoughNobodySyncs) {
  const Tensor x = ones({100}, DType::i64);
  std::set<StreamId> used;
  Tensor last;
  for (int i = 0; i < 300; ++i) {
    Stream mine("GPU:0");
    used.insert(mine.id());
    const StreamScope on(mine);
    last = x + i;
    // Asking, not syncing: the stream is done some time after it was given back.
    while (i % 10 == 9 && !last.is_ready()) std::this_thread::yield();
  }
  EXPECT_LT(used.size(), 100U);
  EXPECT_EQ(read<std::int64_t>(last), std::vector<std::int64_t>(100, 300));
}

TEST_F(GpuOrder, ManyHostThreadsShareStreamsAndTensors) {
  const Tensor shared = full({1000}, 7, DType::i64) + 1;
  Stream common("GPU:0");
  std::vector<std::int64_t> results(12);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < results.size(); ++t) {
      threads.emplace_back([&, t] {
        const DeviceScope on("GPU:0");
        Stream own("GPU:0");
        Tensor x = shared;
        for (int i = 0; i < 300; ++i) {
          const StreamScope in(i % 3 == 0 ? common : own);
          x = x + shared * static_cast<std::int64_t>(t);
          if (i % 50 == 0) (void)item<std::int64_t>(sum(x));
        }
        results[t] = item<std::int64_t>(sum(x));
      });
    }
  }
  for (std::size_t t = 0; t < results.size(); ++t) EXPECT_EQ(results[t], 1000 * (8 + 300 * 8 * static_cast<std::int64_t>(t)));
}

TEST_F(GpuOrder, EventsMeasureTheDevicesTime) {
  warm_up();
  Stream stream("GPU:0");
  const StreamScope on(stream);
  Event begin({.timing = true});
  Event middle({.timing = true});
  Event end({.timing = true});
  begin.record(stream);
  const Tensor slow = slow_fill({1}, 1, 50ms);
  middle.record(stream);
  const Tensor quick = ones({1});
  end.record(stream);
  end.sync();
  const auto slowly = Event::elapsed(begin, middle);
  const auto quickly = Event::elapsed(middle, end);
  EXPECT_GE(slowly, 49ms);
  EXPECT_LE(slowly, 500ms);
  EXPECT_GT(quickly, 0ns);
  EXPECT_LT(quickly, slowly);
  EXPECT_NEAR(static_cast<double>(Event::elapsed(begin, end).count()), static_cast<double>((slowly + quickly).count()), 1e6);
}

TEST_F(GpuOrder, AFullStreamHoldsTheHostBackAndSaysSo) {
  warm_up();
  Stream stream("GPU:0", {.most_ops = 4});
  const StreamScope on(stream);
  Tensor x = slow_fill({10}, 0, 30ms);
  reset_sync_totals();
  std::size_t most = 0;
  for (int i = 0; i < 50; ++i) {
    x = x + 1;
    most = std::max(most, stream.base().pending().size());
  }
  EXPECT_LE(most, 4U);
  EXPECT_GT(passages(SyncReason::back_pressure), 0U);
  EXPECT_EQ(sync_counts().demand, 0U);
  EXPECT_EQ(read<std::int64_t>(x), std::vector<std::int64_t>(10, 50));
}

TEST_F(GpuOrder, ATriedReadComesTrueWithoutASync) {
  warm_up();
  sync_devices();
  reset_sync_totals();
  const Tensor x = slow_fill({10}, 5, 20ms) + 1;
  std::optional<std::vector<std::int64_t>> got = try_read<std::int64_t>(x);
  EXPECT_FALSE(got.has_value());
  EXPECT_TRUE(comes_true([&] { return (got = try_read<std::int64_t>(x)).has_value(); }));
  EXPECT_EQ(sync_counts().demand_blocked, 0U);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(*got, std::vector<std::int64_t>(10, 6));
}

TEST_F(GpuOrder, AStartedReadComesTrueWithoutASync) {
  warm_up();
  reset_sync_totals();
  const Pending<std::int64_t> pending = read_async<std::int64_t>(slow_fill({10}, 5, 20ms));
  EXPECT_FALSE(pending.is_ready());
  EXPECT_TRUE(comes_true([&] { return pending.is_ready(); }));
  EXPECT_EQ(sync_counts().demand, 0U);
  EXPECT_EQ(pending.get_all(), std::vector<std::int64_t>(10, 5));
}

TEST_F(GpuOrder, AHundredThousandSmallOpsDrainInBoundedMemory) {
  Tensor x = zeros({100}, DType::i64);
  for (int i = 0; i < 2000; ++i) x = x + 1;
  x.sync();
  const std::uint64_t reserved = memory_info("GPU:0").reserved;
  const std::int64_t resident = resident_bytes();
  for (int i = 0; i < 98'000; ++i) x = x + 1;
  EXPECT_EQ(read<std::int64_t>(x), std::vector<std::int64_t>(100, 100'000));
  EXPECT_LE(memory_info("GPU:0").reserved, reserved + MiB(4));
  EXPECT_LE(resident_bytes(), resident + static_cast<std::int64_t>(MiB(32)));
  EXPECT_TRUE(comes_true([] { return default_stream("GPU:0").is_idle(); }));
}

TEST_F(GpuOrder, ASyncThatTakesTooLongSaysWhatIsPending) {
  warm_up();
  const Site here;
  const Tensor slow = slow_fill({1}, 9, 300ms, here);
  try {
    sync_devices({.timeout = 20ms});
    FAIL() << "the deadline passed unnoticed";
  } catch (const DeadlineExceeded& e) {
    EXPECT_NE(std::string(e.what()).find("TestSlowFill"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(here.to_string()), std::string::npos) << e.what();
  }
  EXPECT_EQ(item<std::int64_t>(slow), 9) << "all goes on";
}

TEST_F(GpuOrder, AnyThreadMayWaitForWorkBehindTheDefaultStream) {
  warm_up();
  void* const default_queue = reinterpret_cast<void*>(1);  // cudaStreamLegacy
  const Tensor slow = slow_fill({1}, 9, 500ms);
  const Tensor back = from_dlpack(to_dlpack(slow, default_queue), default_queue) + 1;
  Stream behind = wrap_stream("GPU:0", default_queue);
  // The second thread finds that the first has asked for everything, and has made no call to CUDA itself.
  for (int i = 0; i < 2; ++i) {
    std::thread([&] { EXPECT_THROW(behind.sync({.timeout = 20ms}), DeadlineExceeded); }).join();
  }
  EXPECT_EQ(item<std::int64_t>(back), 10);
}

TEST_F(GpuOrder, AKernelOfOnesOwnFindsTheQueueItRunsOn) {
  ::alarm(30);  // a kernel that waited for a lock its caller holds would never come back
  Stream stream("GPU:0");
  const StreamScope on(stream);
  const std::uint64_t seen = native_stream_seen_by_a_kernel();
  EXPECT_NE(seen, 0U);
  EXPECT_EQ(seen, reinterpret_cast<std::uint64_t>(stream.native()));
}

}  // namespace tutti::testing_cuda

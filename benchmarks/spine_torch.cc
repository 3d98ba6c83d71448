// The spine on the CPU beside libtorch and bare loops. Fresh random data; before anything is timed, our results are compared with
// libtorch's in double precision.
#include <torch/torch.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "tutti/tutti.h"
#include "versus.h"

namespace tt = tutti;

namespace {

std::vector<float> random_values(std::size_t count, std::uint64_t seed) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  std::uniform_real_distribution<float> draw(-1.F, 1.F);
  std::vector<float> out(count);
  for (float& value : out) value = draw(random);
  return out;
}

struct Pair {
  tt::Tensor ours;
  torch::Tensor theirs;
};

Pair make(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  std::vector<float> values = random_values(count, seed);
  const tt::Dims dims{std::span<const std::int64_t>(shape)};
  return {tt::constant(values, dims), torch::from_blob(values.data(), shape).clone()};
}

torch::Tensor in_double(const Pair& x) { return x.theirs.to(torch::kDouble); }

void expect_close(const char* what, const tt::Tensor& ours, const torch::Tensor& in_double, double tolerance) {
  const std::vector<float> mine = tt::read<float>(ours);
  const torch::Tensor flat = in_double.to(torch::kFloat).contiguous().view(-1);
  const float* right = flat.data_ptr<float>();
  for (std::size_t i = 0; i < mine.size(); ++i) {
    if (std::abs(mine[i] - right[i]) <= tolerance * (1 + std::abs(right[i]))) continue;
    std::fprintf(stderr, "%s: element %zu is %g, in double precision it is %g\n", what, i, static_cast<double>(mine[i]),
                 static_cast<double>(right[i]));
    std::exit(1);
  }
}

double resident_mib() {
  std::ifstream status("/proc/self/statm");
  long pages = 0;
  long resident = 0;
  status >> pages >> resident;
  return static_cast<double>(resident) * 4096 / (1 << 20);
}

// Host time per enqueue while the worker is awake: bursts shorter than the run-ahead bound, the first op not counted.
std::vector<double> enqueue_samples(const tt::Tensor& a, const tt::Tensor& b, int samples) {
  std::vector<double> out;
  for (int i = 0; i < samples; ++i) {
    {
      const tt::Tensor first = a + b;
    }  // wakes the worker
    out.push_back(bench::sample(200, [&] { const tt::Tensor c = tt::add(a, b); }));
    tt::sync_devices();
  }
  return out;
}

std::vector<double> wake_samples(const tt::Tensor& a, const tt::Tensor& b, int samples) {
  std::vector<double> out;
  for (int i = 0; i < samples; ++i) {
    tt::sync_devices();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // long enough for the worker to park
    out.push_back(bench::sample(1, [&] { const tt::Tensor c = tt::add(a, b); }));
  }
  return out;
}

double drain(int ops, const tt::Tensor& a, const tt::Tensor& b) {
  const auto start = bench::Clock::now();
  for (int i = 0; i < ops; ++i) const tt::Tensor c = tt::add(a, b);
  tt::sync_devices();
  return bench::nanoseconds_since(start) / ops;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv);
  const torch::NoGradGuard no_grad;
  torch::set_num_threads(static_cast<int>(std::thread::hardware_concurrency()));
  const std::uint64_t seed = std::random_device{}();
  std::printf("seed %llu, libtorch %s with %d threads, tutti %s with %u\n", static_cast<unsigned long long>(seed), TORCH_VERSION,
              torch::get_num_threads(), tt::version(), tt::get_num_threads());
  bench::Report report("spine");
  const int samples = options.samples(61);
  const int large_samples = options.samples(21);
  const std::int64_t large = options.calls(16 << 20);
  bench::Report::heading("libtorch");

  const Pair a = make({32, 32}, seed);
  const Pair b = make({32, 32}, seed + 1);
  expect_close("add", tt::add(a.ours, b.ours), in_double(a) + in_double(b), 0);
  report.versus(
      "add 32x32 f32, whole call", "libtorch", 3.0, samples, options.calls(2000),
      [&] { const tt::Tensor c = tt::add(a.ours, b.ours); }, [&] { const torch::Tensor c = a.theirs + b.theirs; });

  tt::DeviceMemory& memory = tt::runtime({}).cpu().memory();
  std::vector<double> pool;
  for (int i = 0; i < samples; ++i)
    pool.push_back(bench::sample(options.calls(5000), [&] { (void)memory.allocate(4096, tt::StreamId::none, {}); }));
  report.absolute("pool allocate + free 4 KiB", 50, pool);
  report.versus(
      "pool allocate + free 4 KiB", "libtorch empty", 1.0, samples, options.calls(5000),
      [&] { (void)memory.allocate(4096, tt::StreamId::none, {}); }, [&] { (void)torch::empty({1024}); });

  const tt::Tensor our_sum = tt::sum(a.ours);
  const torch::Tensor their_sum = a.theirs.sum();
  std::vector<double> item;
  volatile float sink = 0;
  for (int i = 0; i < samples; ++i) item.push_back(bench::sample(options.calls(5000), [&] { sink = tt::item<float>(our_sum); }));
  report.absolute("item of a ready value", 50, item);
  report.versus(
      "item of a ready value", "libtorch item", 1.0, samples, options.calls(5000), [&] { sink = tt::item<float>(our_sum); },
      [&] { sink = their_sum.item<float>(); });

  tt::set_synchronous_execution(false);
  report.absolute("enqueue, worker awake", 200, enqueue_samples(a.ours, b.ours, options.samples(200)));
  const bench::Summary woken = bench::summarise(wake_samples(a.ours, b.ours, options.samples(50)));
  std::printf("%-44s %12.1f\n", "enqueue, first after idle (wakes the worker)", woken.median);
  report.note("enqueue, first after idle", woken.median);
  const tt::Tensor done = a.ours + b.ours;
  tt::sync_devices();
  const tt::TimelinePoint point = done.impl().buffer()->written();
  volatile bool is_done = false;
  std::vector<double> seen;
  for (int i = 0; i < options.samples(31); ++i)
    seen.push_back(bench::sample(options.calls(100000), [&] { is_done = tt::is_done(point); }));
  report.absolute("a completed point seen", 10, seen);

  drain(options.calls(100000), a.ours, b.ours);
  const double before = resident_mib();
  const double few = drain(options.calls(100000), a.ours, b.ours);
  const double many = drain(options.calls(1000000), a.ours, b.ours);
  const double after = resident_mib();
  std::printf("%-44s %12.1f   100 k: %.1f, so %.2fx; resident %.1f -> %.1f MiB\n", "1 M adds enqueued and drained, per op", many,
              few, many / few, before, after);
  report.note("1M ops",
              {{"ns_per_op", many}, {"ns_per_op_100k", few}, {"resident_before_mib", before}, {"resident_after_mib", after}});
  tt::set_synchronous_execution(true);

  const Pair m = make({1024, 1024}, seed + 2);
  const Pair n = make({1024, 1024}, seed + 3);
  expect_close("matmul", tt::matmul(m.ours, n.ours), torch::matmul(in_double(m), in_double(n)), 1e-4);
  report.versus(
      "matmul 1024 f32", "libtorch", 0.97, options.samples(21), 3, [&] { const tt::Tensor c = tt::matmul(m.ours, n.ours); },
      [&] { const torch::Tensor c = torch::matmul(m.theirs, n.theirs); });

  const Pair x = make({large}, seed + 4);
  const Pair y = make({large}, seed + 5);
  expect_close("add", tt::add(x.ours, y.ours), in_double(x) + in_double(y), 0);
  expect_close("exp", tt::exp(x.ours), torch::exp(in_double(x)), 1e-6);
  expect_close("sum", tt::sum(x.ours), in_double(x).sum(), 1e-2);
  report.versus(
      "add 16 Mi f32", "libtorch", 0.97, large_samples, 2, [&] { const tt::Tensor c = tt::add(x.ours, y.ours); },
      [&] { const torch::Tensor c = x.theirs + y.theirs; });
  // libtorch maps fresh pages for every large result; writing into a tensor it already has is its best case.
  torch::Tensor out = torch::empty_like(x.theirs);
  report.versus(
      "add 16 Mi f32, libtorch into a tensor it has", "libtorch add_out", 0.97, large_samples, 2,
      [&] { const tt::Tensor c = tt::add(x.ours, y.ours); }, [&] { torch::add_out(out, x.theirs, y.theirs); });
  report.versus(
      "exp 16 Mi f32", "libtorch", 0.97, large_samples, 2, [&] { const tt::Tensor c = tt::exp(x.ours); },
      [&] { const torch::Tensor c = torch::exp(x.theirs); });
  report.versus(
      "exp 16 Mi f32, libtorch into a tensor it has", "libtorch exp_out", 0.97, large_samples, 2,
      [&] { const tt::Tensor c = tt::exp(x.ours); }, [&] { torch::exp_out(out, x.theirs); });
  report.versus(
      "sum 16 Mi f32", "libtorch", 0.97, large_samples, 4, [&] { const tt::Tensor c = tt::sum(x.ours); },
      [&] { const torch::Tensor c = x.theirs.sum(); });
  // A bare loop, one thread, as the compiler makes it.
  const std::vector<float> p = random_values(static_cast<std::size_t>(large), seed + 6);
  const std::vector<float> r = random_values(static_cast<std::size_t>(large), seed + 7);
  std::vector<float> q(p.size());
  tt::set_num_threads(1);
  report.versus(
      "add 16 Mi f32, one thread", "bare loop", 0.97, large_samples, 2, [&] { const tt::Tensor c = tt::add(x.ours, y.ours); },
      [&] {
        for (std::size_t i = 0; i < p.size(); ++i) q[i] = p[i] + r[i];
      });
  report.write(options.json());
}

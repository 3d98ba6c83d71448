// Processes of one host that meet and reduce: through shared memory, and as a program calls it, beside gloo called as its
// documentation shows (new options for each call), in the same run.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include "job.h"
#include "tutti/mesh/engines/shared_exchange.h"
#include "tutti/mesh/engines/shared_meeting.h"
#include "tutti/mesh/engines/socket_exchange.h"
#include "tutti/tutti.h"
#include "versus.h"

namespace {

using namespace std::chrono_literals;

// Notes in a folder.
class Folder final : public tutti::Rendezvous {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}
  void put(const std::string& key, const std::string& value) override {
    const auto name = path_ / std::to_string(std::hash<std::string>()(key));
    const std::string unfinished = name.string() + "." + std::to_string(::getpid());
    std::ofstream(unfinished, std::ios::binary) << value;
    std::filesystem::rename(unfinished, name);
  }
  std::string get(const std::string& key, tutti::Deadline /*deadline*/) override {
    const auto name = path_ / std::to_string(std::hash<std::string>()(key));
    while (!std::filesystem::exists(name)) std::this_thread::sleep_for(1ms);
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path path_;
};

std::shared_ptr<gloo::rendezvous::Context> gloo_context(int size, int index, const std::string& folder) {
  gloo::transport::tcp::attr where("127.0.0.1");
  auto device = gloo::transport::tcp::CreateDevice(where);
  auto context = std::make_shared<gloo::rendezvous::Context>(index, size);
  gloo::rendezvous::FileStore store(folder + "/gloo");
  context->connectFullMesh(store, device);
  return context;
}

void gloo_sum(const std::shared_ptr<gloo::rendezvous::Context>& context, float* in, float* out, std::size_t count) {
  gloo::AllreduceOptions options(context);
  options.setInput(in, count);
  options.setOutput(out, count);
  options.setReduceFunction([](void* c, const void* a, const void* b, std::size_t n) { gloo::sum<float>(c, a, b, n); });
  gloo::allreduce(options);
}

struct Side {
  std::string what;
  int calls;
  int samples;
  double most_ns;  // what ours should take at most; 0: no target
  double least_ratio;
  std::function<void()> ours;
  std::function<void()> peer;
};

// All that one of `size` processes does; member 0 reports.
void run_member(int size, int index, const std::string& folder, const bench::Options& options, bench::Report* report) {
  Folder notes(folder);
  const auto soon = tutti::deadline_after(60s);
  const auto meeting = tutti::SharedMeeting::open(notes, "meeting", size, index, soon);
  const auto shared = tutti::SharedExchange::open(notes, "exchange", size, index, soon);
  const auto sockets = tutti::open_socket_exchange(notes, "sockets", size, index, soon, {.secret = folder});
  const auto readable = tutti::open_socket_exchange(notes, "readable", size, index, soon, {.secret = folder, .encrypts = false});

  const auto context = gloo_context(size, index, folder);
  constexpr std::size_t largest = std::size_t{4} << 20U;
  std::vector<float> in(largest, 1.F);
  std::vector<float> out(largest);
  const auto deadline = [] { return tutti::deadline_after(60s); };
  const auto reduce = [&](tutti::Exchange& exchange, std::size_t count) {
    return [&in, &out, &exchange, count, deadline] {
      exchange.all_reduce(in.data(), out.data(), count, tutti::DType::f32, tutti::Reduction::sum, deadline());
    };
  };
  const auto gloo_reduce = [&](std::size_t count) { return [&, count] { gloo_sum(context, in.data(), out.data(), count); }; };
  const auto meet = [&] {
    meeting->arrive(1, "barrier");
    if (meeting->wait(deadline()).ending != tutti::MeetingState::released) std::abort();
  };
  const auto gloo_meet = [&] {
    gloo::BarrierOptions called(context);
    gloo::barrier(called);
  };
  const std::size_t row = size == 2 ? 0 : size == 4 ? 1 : 2;
  const double barrier_us[] = {2, 15, 40};
  const double small_us[] = {3, 20, 50};
  const double large_ms[] = {6, 18, 36};
  const std::vector<Side> sides{
      {"barrier, shared memory", 200, 15, barrier_us[row] * 1e3, 10, meet, gloo_meet},
      {"all-reduce 4 B, shared memory", 200, 15, small_us[row] * 1e3, 10, reduce(*shared, 1), gloo_reduce(1)},
      {"all-reduce 64 KiB, shared memory", 50, 15, 0, 2, reduce(*shared, std::size_t{16} << 10U),
       gloo_reduce(std::size_t{16} << 10U)},
      {"all-reduce 16 MiB, shared memory", 3, 9, large_ms[row] * 1e6, 2, reduce(*shared, largest), gloo_reduce(largest)},
      {"all-reduce 4 B, sockets", 50, 9, 0, 1, reduce(*sockets, 1), gloo_reduce(1)},
      {"all-reduce 64 KiB, sockets", 20, 9, 0, 1, reduce(*sockets, std::size_t{16} << 10U), gloo_reduce(std::size_t{16} << 10U)},
      // gloo's neither encrypts nor authenticates.
      {"all-reduce 16 MiB, sockets", 2, 7, 0, 0.5, reduce(*sockets, largest), gloo_reduce(largest)},
      {"all-reduce 16 MiB, sockets, not encrypted", 2, 7, 0, 0.7, reduce(*readable, largest), gloo_reduce(largest)},
  };
  for (const Side& side : sides) {
    std::vector<double> ours;
    std::vector<double> peer;
    const int calls = options.calls(side.calls);
    const int peer_calls = std::max(1, calls / 10);
    for (int sample = -1; sample < options.samples(side.samples); ++sample) {  // the first warms up
      meet();
      const double mine = bench::sample(calls, side.ours);
      meet();
      const double theirs = bench::sample(peer_calls, side.peer);
      if (sample < 0) continue;
      ours.push_back(mine);
      peer.push_back(theirs);
    }
    if (report == nullptr) continue;
    const std::string what = std::to_string(size) + " processes: " + side.what;
    report->sides(what, "gloo", side.least_ratio, ours, peer, calls);
    if (side.most_ns > 0) report->absolute("  its limit", side.most_ns, ours);
  }
  meet();
}

// What a program does: all_reduce of one float on the device, and the sum as a number. Ours, then gloo's, in turn.
std::vector<double> as_called(int size, int rank, const char* device, const std::string& folder, const bench::Options& options) {
  tutti::simulate_gpus(1);
  const tutti::Mesh mesh = tutti::create_distributed_mesh({{"x", size}}, {device});
  const tutti::DeviceScope on(device);
  const tutti::Tensor one = tutti::ones({1});
  const auto context = gloo_context(size, rank, folder);
  float in = 1;
  float out = 0;
  const auto ours = [&] {
    const float sum = tutti::item<float>(tutti::all_reduce({one}, mesh, "x", tutti::Reduction::sum)[0]);
    if (sum != static_cast<float>(size)) std::abort();
  };
  const auto peer = [&] { gloo_sum(context, &in, &out, 1); };
  std::vector<double> times;
  for (int sample = -1; sample < options.samples(15); ++sample) {  // the first warms up
    tutti::barrier(mesh);
    const double mine = bench::sample(options.calls(200), ours);
    tutti::barrier(mesh);
    const double theirs = bench::sample(options.calls(20), peer);
    if (sample >= 0) times.insert(times.end(), {mine, theirs});
  }
  tutti::barrier(mesh);
  return times;
}

class NewFolder {
 public:
  NewFolder() : path_((std::filesystem::temp_directory_path() / "tutti_mesh_XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no folder");
    std::filesystem::create_directory(path_ + "/gloo");
  }
  ~NewFolder() { std::filesystem::remove_all(path_); }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

void measure_as_called(int size, double most_us, const bench::Options& options, bench::Report& report) {
  for (const char* device : {"CPU:0", "GPU:0"}) {
    const NewFolder folder;
    const std::vector<double> times =
        bench::in_job(size, [&](int rank, const std::string&) { return as_called(size, rank, device, folder.path(), options); });
    std::vector<double> ours;
    std::vector<double> peer;
    for (std::size_t i = 0; i + 1 < times.size(); i += 2) {
      ours.push_back(times[i]);
      peer.push_back(times[i + 1]);
    }
    report.sides(std::to_string(size) + " processes: all_reduce 4 B and item, " + device, "gloo", 1, ours, peer,
                 options.calls(200));
    report.absolute("  its limit", most_us * 1e3, ours);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv);
  bench::Report report("mesh_exchange");
  bench::Report::heading("gloo");
  for (const auto& [size, most_us] : {std::pair(2, 40.), std::pair(4, 80.), std::pair(8, 150.)})
    measure_as_called(size, most_us, options, report);
  for (const int size : {2, 4, 8}) {
    const NewFolder folder;
    std::fflush(stdout);
    std::vector<pid_t> children;
    for (int index = 1; index < size; ++index)
      children.push_back(bench::in_process([&, index] { run_member(size, index, folder.path(), options, nullptr); }));
    run_member(size, 0, folder.path(), options, &report);
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      if (status != 0) return 1;
    }
  }
  report.write(options.json());
}

// Processes of one host that meet and reduce: through shared memory, beside gloo called as its documentation shows (new options
// for each call), in the same run.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <cstdio>
#include <cstdlib>
#include <cstring>
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

#include "tutti/mesh/engines/gloo_exchange.h"
#include "tutti/mesh/engines/shared_exchange.h"
#include "tutti/mesh/engines/shared_meeting.h"
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
void run_member(int size, int index, const std::string& folder, bench::Report* report) {
  Folder notes(folder);
  const auto soon = tutti::deadline_after(60s);
  const auto meeting = tutti::SharedMeeting::open(notes, "meeting", size, index, soon);
  const auto shared = tutti::SharedExchange::open(notes, "exchange", size, index, soon);
  const auto sockets = tutti::open_gloo_exchange(notes, "sockets", size, index, soon);

  gloo::transport::tcp::attr where("127.0.0.1");
  auto device = gloo::transport::tcp::CreateDevice(where);
  auto context = std::make_shared<gloo::rendezvous::Context>(index, size);
  gloo::rendezvous::FileStore store(folder + "/gloo");
  context->connectFullMesh(store, device);

  constexpr std::size_t largest = std::size_t{4} << 20U;
  std::vector<float> in(largest, 1.F);
  std::vector<float> out(largest);
  const auto deadline = [] { return tutti::deadline_after(60s); };
  const auto reduce = [&](tutti::Exchange& exchange, std::size_t count) {
    return [&in, &out, &exchange, count, deadline] {
      exchange.all_reduce(in.data(), out.data(), count, tutti::DType::f32, tutti::Reduction::sum, deadline());
    };
  };
  const auto gloo_reduce = [&](std::size_t count) {
    return [&, count] {
      gloo::AllreduceOptions options(context);
      options.setInput(in.data(), count);
      options.setOutput(out.data(), count);
      options.setReduceFunction([](void* c, const void* a, const void* b, std::size_t n) { gloo::sum<float>(c, a, b, n); });
      gloo::allreduce(options);
    };
  };
  const auto meet = [&] {
    meeting->arrive(1, "barrier");
    if (meeting->wait(deadline()).ending != tutti::MeetingState::released) std::abort();
  };
  const auto gloo_meet = [&] {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
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
      {"all-reduce 16 MiB, sockets", 2, 7, 0, 0.8, reduce(*sockets, largest), gloo_reduce(largest)},
  };
  for (const Side& side : sides) {
    std::vector<double> ours;
    std::vector<double> peer;
    const int peer_calls = std::max(1, side.calls / 10);
    for (int sample = -1; sample < side.samples; ++sample) {  // the first warms up
      meet();
      const double mine = bench::sample(side.calls, side.ours);
      meet();
      const double theirs = bench::sample(peer_calls, side.peer);
      if (sample < 0) continue;
      ours.push_back(mine);
      peer.push_back(theirs);
    }
    if (report == nullptr) continue;
    const std::string what = std::to_string(size) + " processes: " + side.what;
    report->sides(what, "gloo", side.least_ratio, ours, peer, side.calls);
    if (side.most_ns > 0) report->absolute("  its limit", side.most_ns, ours);
  }
  meet();
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("mesh_exchange");
  bench::Report::heading("gloo");
  for (const int size : {2, 4, 8}) {
    std::string folder = (std::filesystem::temp_directory_path() / "tutti_mesh_XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) return 1;
    std::filesystem::create_directory(folder + "/gloo");
    std::fflush(stdout);
    std::vector<pid_t> children;
    for (int index = 1; index < size; ++index) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        run_member(size, index, folder, nullptr);
        ::_exit(0);
      }
      children.push_back(child);
    }
    run_member(size, 0, folder, &report);
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      if (status != 0) return 1;
    }
    std::filesystem::remove_all(folder);
  }
  if (argc == 3 && std::strcmp(argv[1], "--json") == 0) report.write(argv[2]);
}

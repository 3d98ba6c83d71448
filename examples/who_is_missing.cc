// A barrier that one rank does not reach as the others do, and what each of those is told:
// tutti launch -n 3 -- ./who_is_missing late|dies|drains|names
#include <signal.h>

#include <iostream>
#include <string>
#include <thread>

#include "gpus.h"

namespace tt = tutti;
using namespace std::chrono_literals;

namespace {

// The rank the others will miss.
constexpr int odd_one = 1;

void come(const tt::Mesh& mesh, const std::string& name, std::chrono::milliseconds timeout) {
  try {
    tt::barrier(mesh, {.name = name, .timeout = timeout});
    std::cout << "all came to '" << name << "'" << std::endl;
  } catch (const tt::MeetingFailed& e) {
    std::cout << e.what() << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "late";
  if (tt::process_count() == 1) {
    std::cout << "Start it with: tutti launch -n 3 -- who_is_missing " << how << '\n';
    return 0;
  }
  simulate_gpus_where_there_is_none();
  const tt::Mesh mesh = tt::create_distributed_mesh({{"batch", -1}}, {"GPU:0"});
  tt::barrier(mesh, {.name = "start"});

  const bool is_odd = tt::process_rank() == odd_one;
  const tt::DeviceScope on("GPU:0");
  const tt::Tensor x = tt::normal({1024, 1024});
  const tt::Tensor y = tt::matmul(x, x);
  if (is_odd && how == "late") {
    std::this_thread::sleep_for(2500ms);
    come(mesh, "save", 20s);  // meets the others' second try, below
    return 0;
  }
  if (is_odd && how == "dies") ::raise(SIGKILL);
  if (is_odd && how == "drains") {
    tt::Tensor z = y;
    for (int i = 0; i < 300; ++i) z = tt::matmul(z, x);
  }
  come(mesh, is_odd && how == "names" ? "load" : "save", 1500ms);
  if (how == "late") come(mesh, "save", 20s);
}

// `tutti demo`: a small classifier trained on every GPU without a wait, and beside it the same with the usual ones.
#pragma once

#include <string>

namespace tutti::tools {

struct DemoOptions {
  std::string page = "tutti-demo.html";
  unsigned gpus = 4;  // to simulate where there is none
  unsigned epochs = 10;
  bool with_syncs = false;  // also the naive way, with what its waits cost
};

void run_demo(const DemoOptions& options);

}  // namespace tutti::tools

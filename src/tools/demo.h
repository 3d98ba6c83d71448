// `tutti demo`: the guide "Use a GPU" step by step, what asynchrony is worth, and a timeline.
#pragma once

#include <string>

namespace tutti::tools {

struct DemoOptions {
  std::string trace = "tutti-demo.json";
  unsigned gpus = 4;  // to simulate where there is none
  unsigned steps = 2000;
};

void run_demo(const DemoOptions& options);

}  // namespace tutti::tools

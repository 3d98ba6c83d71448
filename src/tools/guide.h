// `tutti demo --guide`: the guide "Use a GPU" step by step, what asynchrony is worth, and a timeline.
#pragma once

#include <string>

namespace tutti::tools {

struct GuideOptions {
  std::string trace = "tutti-demo.json";
  unsigned gpus = 4;  // to simulate where there is none
  unsigned steps = 2000;
};

void show_guide(const GuideOptions& options);

}  // namespace tutti::tools

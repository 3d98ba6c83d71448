#include "tools/demo_devices.h"

#include <algorithm>
#include <iostream>

#include "tools/devices.h"
#include "tutti/base/paragraph.h"
#include "tutti/base/text.h"
#include "tutti/tutti.h"

namespace tutti::tools {

void show_devices(unsigned simulated) {
  const bool had_none = list_physical_devices("GPU").empty();
  const std::string why = why_no_gpu();
  if (had_none) simulate_gpus(simulated);
  print_physical_devices();
  const auto gpus = list_physical_devices("GPU");
  if (gpus.empty()) throw InvalidState("no GPU is visible: unset TUTTI_VISIBLE_DEVICES", {});
  const bool are_simulated =
      std::all_of(gpus.begin(), gpus.end(), [](const auto& gpu) { return get_device_details(gpu).backend == "sim"; });
  if (are_simulated) {
    if (had_none) std::cout << paragraph(text("There is no GPU here", why, "."));
    std::cout << paragraph(
        text(gpus.size() == 1 ? "This one is" : "These are", " simulated, with streams and memory as GPUs have them."));
  } else {
    std::cout << paragraph(
        text("What follows runs on ", gpus.size() == 1 ? "this GPU" : "these GPUs", ", not on simulated ones."));
  }
}

}  // namespace tutti::tools

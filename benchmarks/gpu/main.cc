// Tutti beside bare CUDA on GPU:0, both in this process. usage: gpu_benchmark [host_side|throughput|steps|graphs|small_ops]...
// (without a word: all but the last; exit 77: there is no CUDA GPU)
#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "timing.h"
#include "tutti/tutti.h"

int main(int argc, char** argv) {
  constexpr std::array<std::pair<std::string_view, bool (*)(unsigned long long)>, 5> groups{
      {{"host_side", gpu::measure_host_side},
       {"throughput", gpu::measure_throughput},
       {"steps", gpu::measure_steps},
       {"graphs", gpu::measure_graphs},
       {"small_ops", gpu::measure_small_ops}}};
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  for (const std::string_view word : words) {
    if (std::any_of(groups.begin(), groups.end(), [&](const auto& group) { return group.first == word; })) continue;
    std::fprintf(stderr, "usage: gpu_benchmark [host_side|throughput|steps|graphs|small_ops]...\n");
    return 2;
  }
  const auto gpus = tutti::list_physical_devices("GPU");
  if (gpus.empty() || tutti::get_device_details(gpus.front()).backend != "cuda") {
    std::fprintf(stderr, "gpu_benchmark: no CUDA GPU here; nothing was measured\n");
    return 77;
  }
  const tutti::DeviceDetails details = tutti::get_device_details(gpus.front());
  const unsigned long long seed = std::random_device{}();
  std::printf("# gpu %s\n# driver %s\n# tutti %s\n# seed %llu\n", details.device_name.c_str(), details.driver.c_str(),
              tutti::version(), seed);
  bool all = true;
  for (const auto& [name, measure] : groups) {
    const bool is_wanted = words.empty() ? name != "small_ops" : std::find(words.begin(), words.end(), name) != words.end();
    if (is_wanted) all = measure(seed) && all;
  }
  return all ? 0 : 1;
}

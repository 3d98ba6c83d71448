// What the race detector costs: the same loops with it on and off, sample by sample in turn, results compared first.
#include <cstdlib>
#include <string>

#include "tutti/tutti.h"
#include "versus.h"

namespace tt = tutti;

namespace {

struct Loop {
  std::string name;
  std::int64_t elements;
  int turns;  // three ops each
  bool is_enqueued;
  bool is_on_two_streams;
  double target;  // of off / on
};

// x = relu(x * a + b), over and over; the streams take turns, so with two of them every turn has an edge.
float run(const Loop& loop, const tt::Tensor& a, const tt::Tensor& b, tt::Stream& first, tt::Stream& second) {
  tt::set_synchronous_execution(!loop.is_enqueued);
  tt::Tensor x = a;
  for (int i = 0; i < loop.turns; ++i) {
    const tt::StreamScope in(loop.is_on_two_streams && i % 2 == 1 ? second : first);
    x = tt::relu(x * a + b);
  }
  tt::set_synchronous_execution(true);
  tt::sync_devices();
  return tt::read<float>(x).back();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options(argc, argv);
  const Loop loops[] = {
      {"1 Mi elements, in the caller", 1 << 20, 20, false, false, 0.5},
      {"1 Mi elements, enqueued on a stream", 1 << 20, 20, true, false, 0.5},
      {"1 Mi elements, two streams in turn", 1 << 20, 20, true, true, 0.5},
      {"1 Ki elements, in the caller", 1 << 10, 1000, false, false, 0},
      {"1 Ki elements, enqueued on a stream", 1 << 10, 1000, true, false, 0},
      {"1 Ki elements, two streams in turn", 1 << 10, 1000, true, true, 0},
  };
  const tt::DeviceScope on("CPU:0");
  tt::Stream first("CPU:0");
  tt::Stream second("CPU:0");
  bench::Report report("race_detector");
  std::printf("per loop of `x = relu(x * a + b)`; \"tutti\" has the detector on; a ratio of 0.5 is twice the time\n");
  bench::Report::heading("off");
  for (const Loop& loop : loops) {
    const tt::Tensor a = tt::uniform({loop.elements}, {.key = 1, .low = -1});
    const tt::Tensor b = tt::uniform({loop.elements}, {.key = 2, .low = -1});
    const auto watched = [&] {
      tt::set_race_detection(tt::RaceDetection::error);
      return run(loop, a, b, first, second);
    };
    const auto unwatched = [&] {
      tt::set_race_detection(tt::RaceDetection::off);
      return run(loop, a, b, first, second);
    };
    if (watched() != unwatched()) {
      std::fprintf(stderr, "%s: the results differ\n", loop.name.c_str());
      return 1;
    }
    report.versus(loop.name, "off", loop.target, options.samples(31), 1, watched, unwatched);
  }
  tt::set_race_detection(tt::RaceDetection::error);
  (void)run(loops[5], tt::full({1 << 10}, 1, tt::DType::f32), tt::full({1 << 10}, 1, tt::DType::f32), first, second);
  const tt::RaceFigures figures = tt::race_figures();
  std::printf("races found: %llu, accesses forgotten: %llu\n", static_cast<unsigned long long>(figures.found),
              static_cast<unsigned long long>(figures.forgotten));
  report.write(options.json());
  return figures.found == 0 ? 0 : 1;
}

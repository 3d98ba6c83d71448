// Two streams of one GPU, ordered by the runtime and by an event; time between events; cancelling what has not started.
#include <chrono>

#include "gpus.h"

namespace tt = tutti;
using namespace std::chrono_literals;

// Keeps the matrix of 256 x 256 elements that are all 1/256 as it is.
tt::Tensor long_work(tt::Tensor x) {
  for (int i = 0; i < 100; ++i) x = tt::matmul(x, x);
  return x;
}

int main() {
  simulate_gpus_where_there_is_none();
  const tt::DeviceScope on("/GPU:0");
  tt::Stream first("GPU:0");
  tt::Stream second("GPU:0");
  tt::Event begin({.timing = true});
  tt::Event end({.timing = true});

  tt::Tensor x;
  {
    const tt::StreamScope use(first);
    begin.record(first);
    x = long_work(tt::full({256, 256}, 1.f / 256, tt::DType::f32));
    end.record(first);
  }
  std::cout << "enqueued; done already: " << (end.is_done() ? "yes" : "no") << '\n';

  // A value crosses streams in order, without an event and without the host.
  tt::Tensor total;
  {
    const tt::StreamScope use(second);
    total = tt::sum(x);
  }
  // An event orders what has no value in common.
  second.wait(end);

  end.sync({.timeout = 60s});
  std::cout << "the work took time: " << (tt::Event::elapsed(begin, end) > 0ns ? "yes" : "no") << '\n';
  std::cout << "total = " << tt::item<float>(total) << '\n';

  // Work of the second stream waits for the first; dropped before it starts, its value can never be read.
  tt::Tensor late;
  {
    const tt::StreamScope use(first);
    x = long_work(x);
  }
  {
    const tt::StreamScope use(second);
    late = tt::sum(x);
  }
  second.cancel();
  try {
    std::cout << tt::item<float>(late) << '\n';
  } catch (const tt::Cancelled& e) {
    std::cout << e.what() << '\n';
  }
  tt::sync_devices({.timeout = 60s});
  std::cout << "both streams idle: " << (first.is_idle() && second.is_idle() ? "yes" : "no") << '\n';
}

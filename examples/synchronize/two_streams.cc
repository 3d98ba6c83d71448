// The second example of *torch.cuda.synchronize*: one stream computes, another works on the result. Tensors that cross streams
// are ordered by the runtime, so this is right as it stands. Under ManualOrder the program orders its streams itself, by an
// event.
#include "../gpus.h"

namespace tt = tutti;

int main() {
  simulate_gpus_where_there_is_none();
  const tt::DeviceScope on("/GPU:0");
  tt::Stream inference("GPU:0");
  tt::Stream post_processing("GPU:0");

  tt::Tensor output;
  tt::Tensor shown;
  {
    const tt::StreamScope use(inference);
    output = tt::matmul(tt::ones({512, 512}), tt::ones({512, 512}));
  }
  {
    const tt::StreamScope use(post_processing);
    shown = tt::mean(output);  // comes after the product: the runtime knows who made its input
  }
  std::cout << "ordered by the runtime: " << tt::item<float>(shown) << '\n';

  const tt::ManualOrder by_hand;
  tt::Event computed;
  {
    const tt::StreamScope use(inference);
    output = tt::matmul(tt::ones({512, 512}), tt::ones({512, 512})) * 2;
    computed.record(inference);
  }
  post_processing.wait(computed);
  {
    const tt::StreamScope use(post_processing);
    shown = tt::mean(output);
  }
  tt::sync_devices();  // only now the host waits
  std::cout << "ordered by an event: " << tt::item<float>(shown) << '\n';

  tt::set_race_detection(tt::RaceDetection::error);
  {
    const tt::StreamScope use(inference);
    output = tt::matmul(tt::ones({512, 512}), tt::ones({512, 512}));
  }
  try {
    const tt::StreamScope use(post_processing);
    shown = tt::mean(output);  // nobody waits for the product
    std::cout << "the race went unnoticed\n";
  } catch (const tt::RaceDetected& race) {
    const std::string message = race.what();
    std::cout << "not ordered: " << message.substr(0, message.find('\n')) << '\n';
  }
  tt::set_race_detection(tt::RaceDetection::off);
  tt::sync_devices();
}

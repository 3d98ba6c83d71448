// A CUDA program with one wait of each kind in every step. usage: waits [STEPS]
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

__global__ void spin(float* out, long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
  out[threadIdx.x] = static_cast<float>(threadIdx.x);
}

constexpr long long work = 100'000;
constexpr std::size_t bytes = 4U << 20;

void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check((call), __LINE__)

__attribute__((noinline)) void in_a_function(cudaStream_t stream) {
  CHECK(cudaStreamSynchronize(stream));  // waits: stream
}

}  // namespace

int main(int count, char** words) {
  const int steps = count > 1 ? std::atoi(words[1]) : 20;
  cudaStream_t stream{};
  cudaEvent_t event{};
  float* device = nullptr;
  float* pinned = nullptr;
  std::vector<float> pageable(bytes / sizeof(float));
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CHECK(cudaMalloc(&device, bytes));
  CHECK(cudaMallocHost(&pinned, bytes));
  for (int step = 0; step < steps; ++step) {
    spin<<<1, 32, 0, stream>>>(device, work);
    in_a_function(stream);
    spin<<<1, 32, 0, stream>>>(device, work);
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaEventSynchronize(event));  // waits: event
    spin<<<1, 32, 0, stream>>>(device, work);
    CHECK(cudaDeviceSynchronize());  // waits: context
    spin<<<1, 32, 0, stream>>>(device, work);
    CHECK(cudaEventRecord(event, stream));
    while (cudaEventQuery(event) == cudaErrorNotReady) {  // waits: poll
    }
    CHECK(cudaMemcpy(device, pageable.data(), bytes, cudaMemcpyHostToDevice));               // waits: copy
    CHECK(cudaMemcpy(pageable.data(), device, 4, cudaMemcpyDeviceToHost));                   // waits: copy
    CHECK(cudaMemcpyAsync(device, pageable.data(), bytes, cudaMemcpyHostToDevice, stream));  // waits: staging
    CHECK(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, stream));           // does not wait
    CHECK(cudaStreamSynchronize(stream));                                                    // waits: stream
    float* more = nullptr;
    CHECK(cudaMalloc(&more, bytes));  // waits: allocation
    CHECK(cudaFree(more));            // waits: release
    float* more_pinned = nullptr;
    CHECK(cudaMallocHost(&more_pinned, 4096));  // waits: host memory
    CHECK(cudaFreeHost(more_pinned));           // waits: host memory
    CHECK(cudaStreamSynchronize(stream));       // nothing is left to wait for
  }
  std::printf("%d steps\n", steps);
  return 0;
}

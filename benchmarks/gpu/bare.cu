#include "bare.h"

#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <cub/device/device_reduce.cuh>

namespace bare {

namespace {

void check(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "bare CUDA: %s: %s\n", call, cudaGetErrorString(result));
  std::exit(1);
}
#define TUTTI_CHECK(call) check(call, #call)

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::vector<float> random_values(std::size_t count) {
  std::mt19937 random(std::random_device{}());
  std::uniform_real_distribution<float> draw(-1.F, 1.F);
  std::vector<float> out(count);
  for (float& value : out) value = draw(random);
  return out;
}

__global__ void add_small(float* c, const float* a, const float* b, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void spin(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {}
}

__global__ void fill_random(float* out, std::size_t count, unsigned seed) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned x = static_cast<unsigned>(i) * 0x9E3779B9U + seed;
  x ^= x >> 16;
  x *= 0x85EBCA6BU;
  x ^= x >> 13;
  x *= 0xC2B2AE35U;
  x ^= x >> 16;
  out[i] = static_cast<float>(x >> 8) / (1 << 24);
}

// Four groups of four floats per thread, each group a block's width from the last.
constexpr unsigned threads = 256;
constexpr unsigned groups = 4;
constexpr std::size_t per_block = std::size_t{threads} * groups * 4;

__global__ void add_large(float4* c, const float4* a, const float4* b) {
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * threads * groups + threadIdx.x;
  float4 x[groups];
  float4 y[groups];
#pragma unroll
  for (unsigned k = 0; k < groups; ++k) {
    x[k] = a[first + k * threads];
    y[k] = b[first + k * threads];
  }
#pragma unroll
  for (unsigned k = 0; k < groups; ++k)
    c[first + k * threads] = make_float4(x[k].x + y[k].x, x[k].y + y[k].y, x[k].z + y[k].z, x[k].w + y[k].w);
}

__global__ void exp_large(float4* c, const float4* a) {
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * threads * groups + threadIdx.x;
  float4 x[groups];
#pragma unroll
  for (unsigned k = 0; k < groups; ++k) x[k] = a[first + k * threads];
#pragma unroll
  for (unsigned k = 0; k < groups; ++k)
    c[first + k * threads] = make_float4(expf(x[k].x), expf(x[k].y), expf(x[k].z), expf(x[k].w));
}

}  // namespace

struct Stream::State {
  static constexpr int n = 32 * 32;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cudaEvent_t sent[2] = {nullptr, nullptr};
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  float* pinned = nullptr;
  int kilohertz = 0;
  std::vector<float> x = random_values(n);
  std::vector<float> y = random_values(n);
};

Stream::Stream() : state_(std::make_unique<State>()) {
  State& s = *state_;
  TUTTI_CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
  TUTTI_CHECK(cudaEventCreateWithFlags(&s.event, cudaEventDisableTiming));
  for (cudaEvent_t& event : s.sent) TUTTI_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  for (float** memory : {&s.a, &s.b, &s.c}) TUTTI_CHECK(cudaMalloc(memory, State::n * sizeof(float)));
  TUTTI_CHECK(cudaMallocHost(&s.pinned, 64));
  TUTTI_CHECK(cudaDeviceGetAttribute(&s.kilohertz, cudaDevAttrClockRate, 0));
  TUTTI_CHECK(cudaMemcpy(s.a, s.x.data(), State::n * sizeof(float), cudaMemcpyHostToDevice));
  TUTTI_CHECK(cudaMemcpy(s.b, s.y.data(), State::n * sizeof(float), cudaMemcpyHostToDevice));
}

Stream::~Stream() {
  State& s = *state_;
  cudaStreamSynchronize(s.stream);
  for (float* memory : {s.a, s.b, s.c}) cudaFree(memory);
  cudaFreeHost(s.pinned);
  for (cudaEvent_t event : {s.event, s.sent[0], s.sent[1]}) cudaEventDestroy(event);
  cudaStreamDestroy(s.stream);
}

void Stream::enqueue_add() { add_small<<<State::n / 256, 256, 0, state_->stream>>>(state_->c, state_->a, state_->b, State::n); }
void Stream::enqueue_spin(double microseconds) {
  spin<<<1, 1, 0, state_->stream>>>(static_cast<long long>(microseconds * state_->kilohertz / 1e3));
}
void Stream::sync() { TUTTI_CHECK(cudaStreamSynchronize(state_->stream)); }
void Stream::sync_device() { TUTTI_CHECK(cudaDeviceSynchronize()); }
void Stream::record_event() { TUTTI_CHECK(cudaEventRecord(state_->event, state_->stream)); }
void* Stream::allocate(std::size_t bytes) {
  void* memory = nullptr;
  TUTTI_CHECK(cudaMallocAsync(&memory, bytes, state_->stream));
  return memory;
}
void Stream::free(void* memory) { TUTTI_CHECK(cudaFreeAsync(memory, state_->stream)); }
float Stream::read_scalar() {
  TUTTI_CHECK(cudaMemcpyAsync(state_->pinned, state_->c, sizeof(float), cudaMemcpyDeviceToHost, state_->stream));
  TUTTI_CHECK(cudaStreamSynchronize(state_->stream));
  return *state_->pinned;
}
void Stream::send_scalar(int slot) {
  TUTTI_CHECK(cudaMemcpyAsync(state_->pinned + slot, state_->c, sizeof(float), cudaMemcpyDeviceToHost, state_->stream));
  TUTTI_CHECK(cudaEventRecord(state_->sent[slot], state_->stream));
}
float Stream::await_scalar(int slot) {
  TUTTI_CHECK(cudaEventSynchronize(state_->sent[slot]));
  return state_->pinned[slot];
}

bool Stream::adds_right() {
  enqueue_add();
  sync();
  std::vector<float> out(State::n);
  TUTTI_CHECK(cudaMemcpy(out.data(), state_->c, State::n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < State::n; ++i) {
    if (out[i] != state_->x[i] + state_->y[i]) return false;
  }
  return read_scalar() == out[0];
}

struct HostCopies::State {
  std::size_t bytes = 0;
  cudaStream_t stream = nullptr;
  float* device = nullptr;
  float* pinned = nullptr;
  std::vector<float> pageable;
  std::vector<float> original;

  double copy(void* to, const void* from, cudaMemcpyKind kind) const {
    TUTTI_CHECK(cudaStreamSynchronize(stream));
    const auto start = Clock::now();
    TUTTI_CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream));
    TUTTI_CHECK(cudaStreamSynchronize(stream));
    return seconds_since(start);
  }
};

HostCopies::HostCopies(std::size_t bytes) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.bytes = bytes;
  s.original = random_values(bytes / sizeof(float));
  s.pageable = s.original;
  TUTTI_CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
  TUTTI_CHECK(cudaMalloc(&s.device, bytes));
  TUTTI_CHECK(cudaMallocHost(&s.pinned, bytes));
  std::memcpy(s.pinned, s.original.data(), bytes);
}

HostCopies::~HostCopies() {
  cudaFree(state_->device);
  cudaFreeHost(state_->pinned);
  cudaStreamDestroy(state_->stream);
}

double HostCopies::to_device(bool pinned) {
  return state_->copy(state_->device, pinned ? state_->pinned : state_->pageable.data(), cudaMemcpyHostToDevice);
}
double HostCopies::to_host(bool pinned) {
  return state_->copy(pinned ? state_->pinned : state_->pageable.data(), state_->device, cudaMemcpyDeviceToHost);
}
bool HostCopies::copies_right() {
  State& s = *state_;
  const auto same = [&](const float* memory) { return std::memcmp(memory, s.original.data(), s.bytes) == 0; };
  to_device(true);
  std::memset(s.pageable.data(), 0, s.bytes);
  to_host(false);
  const bool pageable = same(s.pageable.data());
  to_device(false);
  std::memset(s.pinned, 0, s.bytes);
  to_host(true);
  return pageable && same(s.pinned);
}

struct DevicePasses::State {
  std::size_t count = 0;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  float* a = nullptr;
  float* b = nullptr;
  float* c = nullptr;
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;

  void run(Pass pass) {
    const auto blocks = static_cast<unsigned>(count / per_block);
    switch (pass) {
      case Pass::copy: TUTTI_CHECK(cudaMemcpyAsync(c, a, count * sizeof(float), cudaMemcpyDeviceToDevice, stream)); break;
      case Pass::add:
        add_large<<<blocks, threads, 0, stream>>>(reinterpret_cast<float4*>(c), reinterpret_cast<float4*>(a),
                                                  reinterpret_cast<float4*>(b));
        break;
      case Pass::exp:
        exp_large<<<blocks, threads, 0, stream>>>(reinterpret_cast<float4*>(c), reinterpret_cast<float4*>(a));
        break;
      case Pass::sum: TUTTI_CHECK(cub::DeviceReduce::Sum(scratch, scratch_bytes, a, c, count, stream)); break;
    }
    TUTTI_CHECK(cudaGetLastError());
  }
  [[nodiscard]] std::vector<float> values(const float* memory, std::size_t first, std::size_t length) const {
    std::vector<float> out(length);
    TUTTI_CHECK(cudaMemcpy(out.data(), memory + first, length * sizeof(float), cudaMemcpyDeviceToHost));
    return out;
  }
};

DevicePasses::DevicePasses(std::size_t elements) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.count = elements / per_block * per_block;
  TUTTI_CHECK(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
  TUTTI_CHECK(cudaEventCreate(&s.begin));
  TUTTI_CHECK(cudaEventCreate(&s.end));
  for (float** memory : {&s.a, &s.b, &s.c}) TUTTI_CHECK(cudaMalloc(memory, s.count * sizeof(float)));
  for (float* memory : {s.a, s.b}) {
    fill_random<<<static_cast<unsigned>((s.count + 255) / 256), 256, 0, s.stream>>>(memory, s.count, std::random_device{}());
  }
  TUTTI_CHECK(cub::DeviceReduce::Sum(nullptr, s.scratch_bytes, s.a, s.c, s.count, s.stream));
  TUTTI_CHECK(cudaMalloc(&s.scratch, s.scratch_bytes));
  TUTTI_CHECK(cudaStreamSynchronize(s.stream));
}

DevicePasses::~DevicePasses() {
  State& s = *state_;
  cudaStreamSynchronize(s.stream);
  for (float* memory : {s.a, s.b, s.c}) cudaFree(memory);
  cudaFree(s.scratch);
  cudaEventDestroy(s.begin);
  cudaEventDestroy(s.end);
  cudaStreamDestroy(s.stream);
}

double DevicePasses::seconds(Pass pass, int calls) {
  State& s = *state_;
  TUTTI_CHECK(cudaEventRecord(s.begin, s.stream));
  for (int i = 0; i < calls; ++i) s.run(pass);
  TUTTI_CHECK(cudaEventRecord(s.end, s.stream));
  TUTTI_CHECK(cudaEventSynchronize(s.end));
  float milliseconds = 0;
  TUTTI_CHECK(cudaEventElapsedTime(&milliseconds, s.begin, s.end));
  return milliseconds / 1e3 / calls;
}

bool DevicePasses::is_right(Pass pass) {
  State& s = *state_;
  TUTTI_CHECK(cudaMemsetAsync(s.c, 0xFF, s.count * sizeof(float), s.stream));
  s.run(pass);
  TUTTI_CHECK(cudaStreamSynchronize(s.stream));
  if (pass == Pass::sum) {
    double sum = 0;
    for (const float value : s.values(s.a, 0, s.count)) sum += value;
    return std::abs(s.values(s.c, 0, 1)[0] - sum) <= 1e-5 * sum;
  }
  // Both ends: what lies between is made by the same arithmetic.
  for (const std::size_t first : {std::size_t{0}, s.count - per_block}) {
    const std::vector<float> a = s.values(s.a, first, per_block);
    const std::vector<float> b = s.values(s.b, first, per_block);
    const std::vector<float> c = s.values(s.c, first, per_block);
    for (std::size_t i = 0; i < c.size(); ++i) {
      const double wanted = pass == Pass::copy ? a[i] : pass == Pass::add ? a[i] + b[i] : std::exp(static_cast<double>(a[i]));
      if (!(std::abs(c[i] - wanted) <= 1e-6 * wanted)) return false;
    }
  }
  return true;
}

}  // namespace bare

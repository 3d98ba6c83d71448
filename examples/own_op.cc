// Ops of one's own, registered from outside the library: one for the CPU alone, one for GPUs too.
#include <algorithm>
#include <cmath>
#include <vector>

#include "gpus.h"

namespace tt = tutti;

// Median: the middle element. Only the CPU has a kernel.
void infer_median(tt::Inference& in) {
  in.expect_inputs(1);
  if (in.dtype(0) != tt::DType::f32) in.reject_dtypes("the input must be float32");
  if (tt::element_count(in.shape(0)).value_or(0) == 0) in.reject_shapes("there is no median of nothing");
  in.output(tt::DType::f32, {});
}

void median_kernel(const tt::KernelCall& call, tt::KernelContext&) {
  const auto* x = call.in(0).as<const float>();
  std::vector<float> sorted(x, x + call.in(0).count());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  *call.out().as<float>() = *middle;
}

// Clamp: a value between two bounds, for every element. The bounds travel as attributes.
struct ClampAttributes {
  float low;
  float high;
};

void infer_clamp(tt::Inference& in) {
  in.expect_inputs(1);
  if (in.dtype(0) != tt::DType::f32) in.reject_dtypes("the input must be float32");
  in.output(in.dtype(0), in.shape(0));
}

// Runs on the device's cores; an exception thrown here would travel with the result to whoever reads it.
void clamp_kernel(const tt::KernelCall& call, tt::KernelContext&) {
  const auto [low, high] = call.attributes->as<ClampAttributes>();
  if (std::isnan(low) || std::isnan(high)) throw tt::KernelFailed("a bound is NaN", call.site);
  const auto* x = call.in(0).as<const float>();
  std::transform(x, x + call.in(0).count(), call.out().as<float>(),
                 [&](float each) { return std::min(std::max(each, low), high); });
}

// What users call. A kernel finds its inputs contiguous; one that walks strides says so in its row: .strided = true.
tt::Tensor median(const tt::Tensor& x, tt::Site site = {}) { return tt::call_op("Median", {x}, {}, site)[0]; }

tt::Tensor clamp(const tt::Tensor& x, float low, float high, tt::Site site = {}) {
  return tt::call_op("Clamp", {x}, tt::Attributes(ClampAttributes{low, high}), site)[0];
}

void print_last_placement() {
  const tt::PlacementRecord record = tt::last_placement();
  std::cout << record.op << ": asked for " << record.requested << ", ran on " << record.chosen << " (" << to_string(record.reason)
            << "), copied " << record.bytes << " bytes for it\n";
}

int main() {
  simulate_gpus_where_there_is_none();
  tt::register_op({.name = "Median", .infer = infer_median, .access = {tt::Access::read}}, {.cpu = median_kernel});
  tt::register_op({.name = "Clamp", .infer = infer_clamp, .access = {tt::Access::read}},
                  {.cpu = clamp_kernel, .sim = clamp_kernel});

  const tt::DeviceScope on("/GPU:0");
  const tt::Tensor x = tt::constant({9.f, -2.f, 4.f, 7.f, 0.5f});

  const tt::Tensor clamped = clamp(x, 0, 5);
  print_last_placement();
  const tt::Tensor middle = median(x);
  print_last_placement();
  std::cout << clamped << '\n' << middle << '\n';
  std::cout << clamp(tt::transpose(tt::reshape(tt::arange(6, {.dtype = tt::DType::f32}), {2, 3})), 1, 4) << '\n';

  // Mistakes are refused at the call ...
  try {
    median(tt::constant({1, 2, 3}));
  } catch (const tt::DTypeError& e) {
    std::cout << e.what() << '\n';
  }
  // ... failures in a kernel come with the value, also through ops that use it.
  const tt::Tensor spoiled = clamp(x, 0, NAN) + 1;
  try {
    std::cout << spoiled << '\n';
  } catch (const tt::KernelFailed& e) {
    std::cout << e.what() << '\n';
  }
}

// cuDNN's plans for convolutions and their gradients, one for each shape, dtype, layout and device, kept for the next call.
#pragma once

#include <cstdint>
#include <memory>

#include "tutti/exec/neural_attributes.h"
#include "tutti/kernels/cuda/cudnn_plan.h"

namespace tutti::kernels::cuda {

enum class ConvolutionPart : std::uint8_t { forward, of_images, of_weight };

struct ConvolutionKey {
  ConvolutionAttributes attributes;
  std::int64_t images = 0;
  std::int64_t channels_in = 0;
  std::int64_t channels_out = 0;
  std::int64_t alignment = 16;  // of all operands, in bytes; at most 16
  int ordinal = 0;
  DType dtype{};
  ConvolutionPart part{};
};

// Null: cuDNN is not there or has no engine for it. Chooses where the key is new, which may block; launches nothing. The device
// is current.
std::shared_ptr<const CudnnPlan> convolution_plan(const ConvolutionKey& key, Site site);

// The operands' names in a plan.
inline constexpr std::int64_t images_uid = 1;
inline constexpr std::int64_t weight_uid = 2;
inline constexpr std::int64_t outputs_uid = 3;

}  // namespace tutti::kernels::cuda

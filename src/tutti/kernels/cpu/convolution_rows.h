// The vectorised loop of convolutions: a line of outputs for several channels at once, which stay in registers over all taps.
#pragma once

#include <cstdint>

namespace tutti::kernels {

template <class T>
struct ConvolutionRows {
  // out[c * plane + i] = the sum over t of weights[t * channels + c] * image[offsets[t] + i], for c < count and i < length.
  // Reads up to `slack` elements behind the last one it needs, and all `channels` of the weights.
  using Line = void (*)(const T* image, const std::int64_t* offsets, std::int64_t taps, const T* weights, T* out,
                        std::int64_t plane, std::int64_t count, std::int64_t length);
  struct Block {
    std::int64_t channels;
    Line line;
  };
  Block several;
  Block single;
  std::int64_t slack;
};
template <class T>
const ConvolutionRows<T>& convolution_rows();  // float, double

}  // namespace tutti::kernels

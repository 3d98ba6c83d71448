#include <algorithm>
#include <array>

#include "tutti/exec/optimizer_step.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

// A few elements at a time, all read before any is written: what is written may be what was read.
template <class T, std::size_t states, class Step>
void step_of_range(Step step, const Operand* in, const Operand* out, std::int64_t begin, std::int64_t end) {
  constexpr std::int64_t at_once = 64;
  std::array<std::array<T, at_once>, 2 + states> read;
  std::array<std::array<T, at_once>, 1 + states> written;
  for (std::int64_t first = begin; first < end; first += at_once) {
    const std::int64_t some = std::min(at_once, end - first);
    for (std::size_t k = 0; k < read.size(); ++k) std::copy_n(in[k].as<T>() + first, some, read[k].data());
    for (std::int64_t n = 0; n < some; ++n) {
      const auto i = static_cast<std::size_t>(n);
      std::array<T, states + 1> state{};
      for (std::size_t s = 0; s < states; ++s) state[s] = read[2 + s][i];
      written[0][i] = step(read[0][i], read[1][i], state.data());
      for (std::size_t s = 0; s < states; ++s) written[1 + s][i] = state[s];
    }
    for (std::size_t k = 0; k < written.size(); ++k) std::copy_n(written[k].data(), some, out[k].as<T>() + first);
  }
}

template <class T, std::size_t states, class Step>
void step_of_all(const KernelCall& call, Parallel& parallel, const Step& step) {
  for (std::size_t i = 0; i < call.outputs / (1 + states); ++i) {
    const Operand* in = &call.in(i * (2 + states));
    const Operand* out = &call.out(i * (1 + states));
    for_each_range(parallel, in->count(),
                   [&](std::int64_t begin, std::int64_t end) { step_of_range<T, states>(step, in, out, begin, end); });
  }
}

template <template <class> class Step, class Attributes>
void run_step(const KernelCall& call, KernelContext& context) {
  const auto attributes = call.attributes->as<Attributes>();
  const float rate = *call.in(call.inputs - 2U).as<float>();
  const auto number = static_cast<double>(*call.in(call.inputs - 1U).as<std::int64_t>());
  visit_dtype<wide_floats>(call.in(0).dtype, [&]<class T>(T) {
    const Step<T> step(attributes, rate, number);
    if constexpr (Step<T>::most_states == 1) {
      if (attributes.states() == 0) return step_of_all<T, 0>(call, context.parallel, step);
    }
    step_of_all<T, Step<T>::most_states>(call, context.parallel, step);
  });
}

}  // namespace

[[maybe_unused]] static const bool optimizer_steps_are_registered =
    register_host_kernel("ApplyGradientDescent", run_step<GradientDescentStep, GradientDescentAttributes>, wide_floats) &&
    register_host_kernel("ApplyAdam", run_step<AdamStep, AdamAttributes>, wide_floats);

}  // namespace tutti::kernels

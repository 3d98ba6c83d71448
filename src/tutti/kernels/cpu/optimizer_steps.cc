#include "tutti/exec/optimizer_step.h"
#include "tutti/kernels/cpu/ranges.h"
#include "tutti/kernels/cpu/registration.h"
#include "tutti/tensor/dtype_visit.h"

namespace tutti::kernels {

namespace {

template <class T, std::size_t states, class Step>
void step_of_range(Step step, const Operand* in, const Operand* out, std::int64_t begin, std::int64_t end) {
  const T* value = in[0].as<T>();
  const T* gradient = in[1].as<T>();
  T* next = out[0].as<T>();
  std::array<const T*, states> before;
  std::array<T*, states> after;
  for (std::size_t s = 0; s < states; ++s) {
    before[s] = in[2 + s].as<T>();
    after[s] = out[1 + s].as<T>();
  }
  // What is written may be what was read, element by element.
#pragma GCC ivdep
  for (std::int64_t i = begin; i < end; ++i) {
    std::array<T, states + 1> state{};
    for (std::size_t s = 0; s < states; ++s) state[s] = before[s][i];
    next[i] = step(value[i], gradient[i], state.data());
    for (std::size_t s = 0; s < states; ++s) after[s][i] = state[s];
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

#include "tutti/graph/call_key.h"

#include "tutti/exec/stream.h"
#include "tutti/ops/deterministic.h"
#include "tutti/ops/matmul.h"
#include "tutti/ops/replica.h"
#include "tutti/ops/variable_cell.h"
#include "tutti/place/runtime.h"
#include "tutti/place/scope.h"

namespace tutti::graph {

void CallKey::add(const Tensor& x) {
  if (!x.is_defined()) return words_.push_back(~std::uint64_t{0});
  const TensorImpl& tensor = x.impl();
  const Buffer& memory = *tensor.buffer();
  std::uint64_t pinned = 0;
  if (memory.device().memory().is_host_visible()) {
    for (LogicalDevice* each : runtime(Site{}).devices()) {
      if (each->staging() != nullptr && each->device().reaches(memory.address(), memory.bytes())) pinned = 1;
    }
  }
  words_.push_back(tensor.shape().size() << 32U | static_cast<std::uint64_t>(tensor.dtype()) << 1U | pinned);
  // Kernels on CUDA devices choose by alignment, and a graph keeps their choice.
  const std::uint64_t alignment =
      memory.device().backend() == BackendKind::cuda ? reinterpret_cast<std::uintptr_t>(tensor.kernel_address()) % 256 : 0;
  words_.push_back(std::uint64_t{index_of(memory.device().id())} << 32U | alignment);
  for (const std::int64_t size : tensor.shape()) words_.push_back(static_cast<std::uint64_t>(size));
  for (const std::int64_t stride : tensor.strides()) words_.push_back(static_cast<std::uint64_t>(stride));
  tensors_.push_back(&x);
}

void CallKey::add(const Variable& x) { words_.push_back(x.cell() ? x.cell()->number() : ~std::uint64_t{0}); }

void CallKey::add(const Stream& stream) { words_.push_back(index_of(stream.id())); }
void CallKey::add(const Generator& generator) { add_identity(&generator.state()); }

void CallKey::add(std::string_view text) {
  words_.push_back(text.size());
  for (; !text.empty(); text.remove_prefix(std::min<std::size_t>(8, text.size()))) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), std::min<std::size_t>(8, text.size()));
    words_.push_back(word);
  }
}

void CallKey::add_place() {
  detail::ThreadState& state = detail::thread_state;
  const detail::ScopeEntry* const scope = detail::without_left(state.scope);
  const detail::ThreadSettings& settings = state.settings;
  add(static_cast<int>(settings.copy_policy) << 5 | static_cast<int>(is_deterministic()) << 4 |
      (state.replica != nullptr ? 8 : 0) | static_cast<int>(settings.evaluates) << 2 | static_cast<int>(allows_tf32()) << 1 |
      (scope != nullptr ? 1 : 0));
  words_.push_back(VariableCell::changes_of_settings());
  if (state.replica != nullptr) {  // which of a mirrored variable's cells is meant
    add(state.replica->index);
    add_identity(state.replica->devices.data());
  }
  if (scope != nullptr) add(std::string_view(scope->requested));
  if (state.stream == nullptr) [[likely]]
    return;
  for (const Stream& each : open_streams()) add(index_of(each.id()));
}

}  // namespace tutti::graph

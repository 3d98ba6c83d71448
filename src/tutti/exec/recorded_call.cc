#include "tutti/exec/recorded_call.h"

#include <deque>

#include "tutti/exec/dispatch.h"
#include "tutti/place/scope.h"

namespace tutti {

CallPlace CallPlace::here() {
  CallPlace out;
  if (const detail::ScopeEntry* scope = detail::without_left(detail::thread_state.scope)) out.device = scope->requested;
  out.streams = open_streams();
  out.settings = detail::thread_state.settings;
  return out;
}

struct AtPlace::Scopes {
  detail::ThreadState before = detail::thread_state;
  std::optional<DeviceScope> device;
  std::deque<StreamScope> streams;

  Scopes(const CallPlace& place, Site site) {
    detail::thread_state.scope = nullptr;
    detail::thread_state.stream = nullptr;
    detail::thread_state.settings = place.settings;
    if (place.device) device.emplace(*place.device, site);
    for (const Stream& each : place.streams) streams.emplace_back(each, site);
  }
  ~Scopes() {
    while (!streams.empty()) streams.pop_back();
    device.reset();
    detail::thread_state.scope = before.scope;
    detail::thread_state.stream = before.stream;
    detail::thread_state.settings = before.settings;
  }
  Scopes(const Scopes&) = delete;
  Scopes& operator=(const Scopes&) = delete;
};

AtPlace::AtPlace(const CallPlace& place, Site site) : scopes_(std::make_unique<Scopes>(place, site)) {}
AtPlace::~AtPlace() = default;

RecordedCall::RecordedCall(const OpCall& call)
    : op_(&call.op),
      site_(call.site),
      pinned_(call.pinned),
      data_(call.data != nullptr ? call.data->keep() : nullptr),
      called_as_(call.called_as),
      draw_(call.draw),
      generator_(call.draw.generator),
      attributes_(call.attributes),
      place_(CallPlace::here()) {
  if (call.like != nullptr) like_ = Tensor(Ref<TensorImpl>(const_cast<TensorImpl*>(call.like)));
  if (call.wanted != nullptr) wanted_ = *call.wanted;
  for (std::size_t i = 0; i < call.inputs().size(); ++i) {
    RecordedInput& input = inputs_.emplace_back();
    if (call.inputs()[i].tensor != nullptr) {
      input.tensor = call.tensor(i);
    } else {
      input.scalar = call.inputs()[i];
    }
  }
}

std::vector<Tensor> RecordedCall::run(std::span<const Tensor> tensors) const {
  const AtPlace place(place_, site_);
  OpCall call(*op_, site_);
  call.pinned = pinned_;
  call.like = like_.is_defined() ? &like_.impl() : nullptr;
  call.wanted = wanted_ ? &*wanted_ : nullptr;
  call.data = data_.get();
  call.called_as = called_as_;
  call.draw = draw_;
  call.attributes = attributes_;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].tensor.is_defined()) {
      call.add(tensors[i]);
    } else {
      call.add(inputs_[i].scalar);
    }
  }
  dispatch(call);
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < call.outputs.size(); ++i) out.push_back(call.outputs.take(i));
  return out;
}

}  // namespace tutti

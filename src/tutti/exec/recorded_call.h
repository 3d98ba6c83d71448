// An op call that owns what it names: kept by whoever records calls, to be run again on other inputs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tutti/exec/op_call.h"
#include "tutti/exec/stream.h"
#include "tutti/place/thread_state.h"

namespace tutti {

// What a thread had set when it made a call: device scope, streams, settings.
struct CallPlace {
  std::optional<std::string> device;  // the innermost scope's name, merged with those around it; nothing: no scope
  std::vector<Stream> streams;        // of the open stream scopes, outermost first
  detail::ThreadSettings settings;

  static CallPlace here();
};

// Sets a thread's state to that place while it lives, for calls that go straight to the runtime.
class AtPlace {
 public:
  explicit AtPlace(const CallPlace& place, Site site);
  ~AtPlace();
  AtPlace(const AtPlace&) = delete;
  AtPlace& operator=(const AtPlace&) = delete;

 private:
  struct Scopes;
  std::unique_ptr<Scopes> scopes_;
};

struct RecordedInput {
  Tensor tensor;   // undefined: the scalar
  OpInput scalar;  // not to be used where there is a tensor
};

class RecordedCall {
 public:
  // Before the call is passed on: running it may change what it points to.
  explicit RecordedCall(const OpCall& call);

  [[nodiscard]] const OpRow& op() const noexcept { return *op_; }
  [[nodiscard]] Site site() const noexcept { return site_; }
  [[nodiscard]] const Attributes& attributes() const noexcept { return attributes_; }
  [[nodiscard]] std::span<const RecordedInput> inputs() const noexcept { return inputs_; }
  [[nodiscard]] const CallPlace& place() const noexcept { return place_; }
  [[nodiscard]] const Draw& draw() const noexcept { return draw_; }
  [[nodiscard]] const std::shared_ptr<const CallData>& data() const noexcept { return data_; }
  // Other data in place of its own.
  void set_data(std::shared_ptr<const CallData> data) noexcept { data_ = std::move(data); }

  // The call with these in place of its tensors (as many as inputs(); those of scalars are not looked at), at its place. Goes
  // through the executors of the calling thread.
  [[nodiscard]] std::vector<Tensor> run(std::span<const Tensor> tensors) const;

 private:
  const OpRow* op_;
  Site site_;
  LogicalDevice* pinned_;
  Tensor like_;
  std::optional<OutputSpec> wanted_;
  std::shared_ptr<const CallData> data_;
  CalledAs called_as_;
  Draw draw_;
  Ref<Generator::State> generator_;  // that of the draw
  Attributes attributes_;
  std::vector<RecordedInput> inputs_;
  CallPlace place_;
};

}  // namespace tutti

// The one way in: every call of an op goes through the executors its thread has set, and then runs.
#pragma once

#include "tutti/exec/op_call.h"
#include "tutti/place/thread_state.h"

namespace tutti {

// Sees a thread's calls before they run: a recorder, a tape, a fuser. They chain: the innermost one sees a call first. A call's
// outputs, and whatever else it does, are there when it has been passed on.
class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  // Passes the call on, or fills its outputs in another way.
  virtual void run(OpCall& call) = 0;

 protected:
  // To the executor around this one; without one, the call runs. What the runtime calls on the way does not come here.
  void pass_on(OpCall& call);

 private:
  friend class ExecutorScope;
  Executor* outer_ = nullptr;
};

// Calls of this thread go to the executor while the scope lives. Left in reverse order, on its own thread.
class ExecutorScope {
 public:
  explicit ExecutorScope(Executor& executor) noexcept;
  ~ExecutorScope();
  ExecutorScope(const ExecutorScope&) = delete;
  ExecutorScope& operator=(const ExecutorScope&) = delete;

 private:
  Executor* const executor_;
};

// Places the call, brings its inputs there and runs it in the caller or hands it to a stream; or what else its row says.
void run_now(OpCall& call);
// The first of these alone, for rows that surround it with something of their own.
void run_kernel(OpCall& call);

// Fills call.outputs. Mistakes throw here; a failure of the kernel travels with the outputs.
inline void dispatch(OpCall& call) {
  if (Executor* top = detail::thread_state.top) [[unlikely]]
    return top->run(call);
  run_now(call);
}

// For a call with one output.
inline Tensor dispatch_one(OpCall& call) {
  dispatch(call);
  return call.outputs.take(0);
}

}  // namespace tutti

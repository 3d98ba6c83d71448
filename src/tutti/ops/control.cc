#include "tutti/ops/control.h"

#include <deque>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/exec/dispatch.h"
#include "tutti/exec/launch_listener.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/indexing.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/reading.h"

namespace tutti {

namespace {

// As a tensor without axes.
Tensor checked_predicate(const Tensor& predicate, const char* what, Site site) {
  if (predicate.dtype(site) != DType::boolean || predicate.size() != 1) {
    throw InvalidArgument(text(what, " needs a bool of one element; it is ", to_string(predicate.dtype()), " of shape ",
                               to_string(predicate.shape()), ". Compare with something, or reduce with all() or any()"),
                          site);
  }
  return reshape(predicate, {}, site);
}

void check_alike(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const char* whose, Site site) {
  if (a.size() != b.size()) throw InvalidArgument(text(whose, " must be as many; there are ", a.size(), " and ", b.size()), site);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].dtype(site) == b[i].dtype(site) && a[i].shape() == b[i].shape()) continue;
    throw InvalidArgument(text(whose, " must agree in shape and dtype; number ", i, " is ", to_string(a[i].dtype()), " of shape ",
                               to_string(a[i].shape()), " and ", to_string(b[i].dtype()), " of shape ", to_string(b[i].shape())),
                          site);
  }
}

std::vector<Tensor> pick(const Tensor& predicate, std::vector<Tensor> yes, std::vector<Tensor> no, Site site) {
  for (std::size_t i = 0; i < yes.size(); ++i) yes[i] = where(predicate, std::move(yes[i]), std::move(no[i]), site);
  return yes;
}

}  // namespace

std::vector<Tensor> cond(const Tensor& predicate, const Branch& then_branch, const Branch& else_branch, Site site) {
  const Tensor decides = checked_predicate(predicate, "cond", site);
  std::vector<Tensor> yes = then_branch();
  std::vector<Tensor> no = else_branch();
  check_alike(yes, no, "the results of cond's two branches", site);
  return pick(decides, std::move(yes), std::move(no), site);
}

Tensor cond(const Tensor& predicate, const std::function<Tensor()>& then_branch, const std::function<Tensor()>& else_branch,
            Site site) {
  return cond(predicate, Branch([&] { return std::vector{then_branch()}; }), Branch([&] { return std::vector{else_branch()}; }),
              site)
      .front();
}

namespace {

// A loop as data: the functions it runs.
class LoopData final : public CallData {
 public:
  LoopData(LoopCondition condition, LoopBody body, WhileOptions options)
      : condition_(std::move(condition)), body_(std::move(body)), options_(options) {}
  [[nodiscard]] WhileResult run(std::vector<Tensor> state, Site site) const;
  [[nodiscard]] std::shared_ptr<const CallData> keep() const override { return std::make_shared<LoopData>(*this); }

 private:
  LoopCondition condition_;
  LoopBody body_;
  WhileOptions options_;
};

WhileResult LoopData::run(std::vector<Tensor> state, Site site) const {
  Tensor goes_on = checked_predicate(condition_(state), "while_loop's condition", site);
  Tensor iterations = zeros_like(goes_on, DType::i64, site);
  std::deque<Tensor> seen;  // what the host has not learnt yet, oldest first
  bool is_over = false;
  // On which device and in which layout the state ends must not depend on when the host learnt that the loop is over.
  bool has_picked = false;
  const auto picked = [&](std::vector<Tensor> next, std::vector<Tensor> last) {
    has_picked = true;
    std::vector<Tensor> out = pick(goes_on, std::move(next), std::move(last), site);
    for (Tensor& each : out) each = contiguous(each, site);
    return out;
  };
  LaunchListener* const listener = detail::thread_state.listener;
  if (listener != nullptr && !options_.most_iterations)
    listener->refuse("While", site, "how often it runs depends on values; give it most_iterations");
  const bool looks = listener == nullptr || !options_.most_iterations;  // what is recorded must not depend on time
  for (std::int64_t i = 0; !is_over && (!options_.most_iterations || i < *options_.most_iterations); ++i) {
    seen.push_back(goes_on);
    while (looks && !seen.empty()) {
      const std::optional<std::vector<bool>> known = try_read<bool>(seen.front(), site);
      if (!known) break;
      is_over = is_over || !known->front();
      seen.pop_front();
    }
    if (is_over) break;
    std::vector<Tensor> next = body_(state);
    check_alike(next, state, "while_loop's state and what its body makes of it", site);
    state = picked(std::move(next), std::move(state));
    iterations = add(std::move(iterations), cast(goes_on, DType::i64, site), site);
    goes_on = logical_and(goes_on, checked_predicate(condition_(state), "while_loop's condition", site), site);
  }
  if (!has_picked) state = picked(state, state);
  return {std::move(state), std::move(iterations), logical_not(goes_on, site)};
}

// The state, then how many iterations took effect, then whether it is over.
void run_loop(OpCall& call) {
  std::vector<Tensor> state;
  for (std::size_t i = 0; i < call.inputs().size(); ++i) state.push_back(call.tensor(i));
  WhileResult result = call.data_as<LoopData>().run(std::move(state), call.site);
  for (Tensor& each : result.state) call.outputs.push_back(std::move(each));
  call.outputs.push_back(std::move(result.iterations));
  call.outputs.push_back(std::move(result.is_finished));
}
const OpRow& loop_row = register_op({.name = "While", .function = "while_loop", .kind = OpKind::region, .run = run_loop});

}  // namespace

WhileResult while_loop(const LoopCondition& condition, const LoopBody& body, const std::vector<Tensor>& state,
                       const WhileOptions& options, Site site) {
  if (options.most_iterations && *options.most_iterations < 0)
    throw InvalidArgument(text("while_loop: most_iterations must not be negative; it is ", *options.most_iterations), site);
  const LoopData data(condition, body, options);
  OpCall call(loop_row, site);
  call.data = &data;
  for (const Tensor& each : state) call.add(each);
  dispatch(call);
  WhileResult result;
  for (std::size_t i = 0; i < state.size(); ++i) result.state.push_back(call.outputs.take(i));
  result.iterations = call.outputs.take(state.size());
  result.is_finished = call.outputs.take(state.size() + 1);
  return result;
}

}  // namespace tutti

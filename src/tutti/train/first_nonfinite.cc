#include "tutti/train/first_nonfinite.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tutti/base/text.h"
#include "tutti/ops/comparison.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/elementwise.h"
#include "tutti/ops/reading.h"
#include "tutti/ops/reduction.h"
#include "tutti/ops/variable_cell.h"
#include "tutti/place/scope.h"

namespace tutti {

namespace {

// A mark is the call's number above the place's, so that the lowest is the first.
constexpr unsigned place_bits = 20;
constexpr std::uint64_t most_places = (std::uint64_t{1} << place_bits) - 1;
constexpr std::int64_t no_mark = std::numeric_limits<std::int64_t>::max();

// Calls that no executor sees and that the runtime orders, also under ManualOrder: the program knows nothing of them.
class OwnCalls {
 public:
  OwnCalls() noexcept
      : top_(std::exchange(detail::thread_state.top, nullptr)),
        manual_order_(std::exchange(detail::thread_state.settings.manual_order, false)) {}
  ~OwnCalls() {
    detail::thread_state.top = top_;
    detail::thread_state.settings.manual_order = manual_order_;
  }
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;

 private:
  Executor* const top_;
  const bool manual_order_;
};

}  // namespace

void FindNonFinite::run(OpCall& call) {
  pass_on(call);
  const std::uint64_t number = calls_++;
  const auto look = [&](const Tensor& value, std::size_t output) {
    if (!value.is_defined() || !is_floating(value.dtype()) || value.size() == 0) return;
    const std::uint64_t place = number_of({&call.op, call.site, output});
    look_at(value, static_cast<std::int64_t>(number << place_bits | place), call.site);
  };
  if (call.op.kind == OpKind::update) {
    const OwnCalls own;
    return look(call.data_as<CellData>().cell().read(call.site), 0);
  }
  if (call.op.kind == OpKind::view) return;  // its elements were looked at when they were made
  for (std::size_t i = 0; i < call.outputs.size(); ++i) look(call.outputs[i], i);
}

std::uint64_t FindNonFinite::number_of(const Place& place) {
  const std::size_t hash = place.site.hash() ^ reinterpret_cast<std::size_t>(place.op) ^ place.output;
  const auto [begin, end] = numbers_.equal_range(hash);
  for (auto each = begin; each != end; ++each) {
    const Place& known = places_[each->second];
    if (known.op == place.op && known.site == place.site && known.output == place.output) return each->second;
  }
  if (places_.size() == most_places) return most_places;  // of a program with more lines than this, the op is not known
  numbers_.emplace(hash, places_.size());
  places_.push_back(place);
  return places_.size() - 1;
}

void FindNonFinite::look_at(const Tensor& output, std::int64_t mark, Site site) {
  if (detail::thread_state.listener != nullptr) {
    throw InvalidState(
        "FindNonFinite cannot look into a function while it is captured, because replays would not: let Watching live around the "
        "call of the captured function, which then runs op by op",
        site);
  }
  const OwnCalls own;
  LogicalDevice& on = runtime(site).of(output.impl().buffer()->device());
  const DeviceScope there(on, site);
  Tensor& first = first_[&on];
  if (!first.is_defined()) first = full(Shape{}, no_mark, DType::i64, site);
  const Tensor lower = minimum(first, mark, site);
  first = options_.infinities ? where(all(isfinite(output, site), site), first, lower, site)
                              : where(any(isnan(output, site), site), lower, first, site);
}

std::optional<NonFinite> FindNonFinite::report(Site site) {
  const OwnCalls own;
  std::vector<Tensor> hosts;
  SyncRequest request{.reason = SyncReason::value_read, .site = site};
  for (const auto& [device, first] : first_) {
    const SyncRequest each = detail::read_of(first, SyncReason::value_read, Intent::unstated, site);
    request.op = each.op;
    request.made = each.made;
    request.bytes += each.bytes;
    hosts.push_back(detail::start_to_host(first, site));
  }
  calls_ = 0;
  first_.clear();
  if (hosts.empty()) return std::nullopt;
  detail::finish_to_host(hosts, request);
  std::int64_t lowest = no_mark;
  for (const Tensor& host : hosts) lowest = std::min(lowest, detail::elements<std::int64_t>(host)[0]);
  if (lowest == no_mark) return std::nullopt;
  NonFinite found{.op = "an op", .site = {}, .call = static_cast<std::uint64_t>(lowest) >> place_bits};
  const std::uint64_t place = static_cast<std::uint64_t>(lowest) & most_places;
  if (place < most_places) {
    const OpRow& op = *places_[place].op;
    found.op = op.function.empty() ? op.name : op.function;
    found.site = places_[place].site;
    found.output = places_[place].output;
  }
  return found;
}

std::string to_string(const NonFinite& found) {
  return text("output ", found.output, " of ", found.op, " at ", found.site.to_string(),
              " is the first that is not finite (call ", found.call, ")");
}

}  // namespace tutti

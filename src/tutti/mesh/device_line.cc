#include "tutti/mesh/device_line.h"

#include <chrono>
#include <utility>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/hal/device.h"
#include "tutti/mesh/nccl/nccl_exchange.h"
#include "tutti/mesh/processes.h"

namespace tutti::detail {

namespace {

using namespace std::chrono_literals;

constexpr auto line_opening_limit = 30s;
constexpr auto closing_limit = 2s;
constexpr std::string_view has_gpu = "GPU ";  // how a card begins that names one

}  // namespace

DeviceLine::DeviceLine(ProcessGroup& group, std::string devices, Device& own)
    : group_(group), devices_(std::move(devices)), own_(own), is_cuda_(own.backend() == BackendKind::cuda && has_nccl()) {}

DeviceLine::~DeviceLine() = default;

std::string DeviceLine::own_card() const {
  if (own_.backend() != BackendKind::cuda) return text("its device is a ", to_string(own_.backend()), " one");
  if (const std::string& why = why_no_nccl(); !why.empty()) return why;
  return text(has_gpu, gpu_identity(static_cast<int>(own_.physical().ordinal)));
}

std::vector<std::string> DeviceLine::shown_by_all(const std::string& topic, const std::string& own, Deadline deadline) {
  Rendezvous& store = group_.store();
  const std::string key = text("gpus/", group_.name(), "/", generation_, "/", opening_, "/", devices_, "/", topic, "/");
  store.put(text(key, group_.ranks()[static_cast<std::size_t>(group_.index())]), own);
  std::vector<std::string> out;
  for (const int rank : group_.ranks()) out.push_back(store.get(text(key, rank), deadline));
  return out;
}

std::string DeviceLine::obstacle(const std::vector<std::string>& cards) const {
  for (std::size_t i = 0; i < cards.size(); ++i) {
    if (!cards[i].starts_with(has_gpu)) return text("rank ", group_.ranks()[i], ": ", printable(cards[i], 400));
    for (std::size_t j = 0; j < i; ++j) {
      if (cards[i] != cards[j]) continue;
      return text("rank ", group_.ranks()[j], " and rank ", group_.ranks()[i], " are on one GPU, and NCCL wants one for each");
    }
  }
  return {};
}

// All have just answered a roll call and come here next.
void DeviceLine::decide() {
  const Deadline limit = Clock::now() + line_opening_limit;
  std::string why = obstacle(shown_by_all("cards", own_card(), limit));
  if (why.empty()) {
    std::string trouble;
    try {
      owned_ = open_nccl_exchange(group_.store(), text("nccl/", group_.name(), "/", generation_, "/", opening_, "/", devices_),
                                  static_cast<int>(group_.ranks().size()), group_.index(),
                                  static_cast<int>(own_.physical().ordinal), limit);
    } catch (const Error& e) {
      trouble = e.message();
    }
    // It counts only if it worked for every one.
    const std::vector<std::string> troubles = shown_by_all("troubles", trouble, Clock::now() + line_opening_limit);
    for (std::size_t i = 0; i < troubles.size() && why.empty(); ++i) {
      if (!troubles[i].empty()) why = text("rank ", group_.ranks()[i], ": ", printable(troubles[i], 400));
    }
  }
  if (why.empty()) {
    way_.store(Way::nccl, std::memory_order_release);
    log(LogLevel::debug, text(group_.name(), " exchanges tensors of ", devices_, " from GPU to GPU"));
    const std::lock_guard lock(guard_);
    gpus_ = owned_.get();
    if (ended_ > generation_) owned_->fail(lost_.c_str());
    return;
  }
  if (owned_ != nullptr) owned_->fail("the others could not open theirs");
  owned_.reset();
  way_.store(Way::host, std::memory_order_release);
  // Nobody expects more of devices that are not there.
  log(own_.backend() == BackendKind::cuda ? LogLevel::info : LogLevel::debug,
      text(group_.name(), " exchanges tensors of ", devices_, " through the host: ", why));
}

void DeviceLine::try_to_decide() {
  try {
    decide();
  } catch (const Error& e) {
    // The others may have come further, or not as far: it is not tried again.
    undecided_ = text("How ", group_.name(), " exchanges tensors of ", devices_, " could not be agreed on: ", e.message());
    throw;
  }
}

void DeviceLine::begin_anew() {
  {
    const std::lock_guard lock(guard_);
    gpus_ = nullptr;
    generation_ = group_.generation();
  }
  opening_ = group_.opening();
  owned_.reset();
  staged_.reset();
  undecided_.clear();
  way_.store(Way::unknown, std::memory_order_release);
}

Exchange& DeviceLine::exchange(bool is_on_gpu, Site site) {
  if (generation_ != group_.generation() || opening_ != group_.opening()) begin_anew();
  if (!undecided_.empty()) throw ExchangeFailed(undecided_, Site());
  if (way_.load(std::memory_order_relaxed) == Way::unknown) try_to_decide();
  if (owned_ != nullptr) return *owned_;
  Exchange& host = group_.host_exchange(site);
  if (!is_on_gpu) return host;
  // Only what was enqueued before the way was known comes here.
  if (staged_ == nullptr) staged_ = stage_through_host(host, static_cast<int>(own_.physical().ordinal));
  return *staged_;
}

void DeviceLine::fail(const std::string& why, std::uint64_t ended) noexcept {
  const std::lock_guard lock(guard_);
  lost_ = why;
  ended_ = ended;
  if (gpus_ != nullptr && ended_ > generation_) gpus_->fail(why.c_str());
}

void DeviceLine::close() noexcept {
  const std::lock_guard lock(guard_);
  if (gpus_ != nullptr) gpus_->close(Clock::now() + closing_limit);
}

}  // namespace tutti::detail

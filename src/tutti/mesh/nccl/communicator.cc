#include "tutti/mesh/nccl/communicator.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "tutti/backends/cuda/pause.h"
#include "tutti/base/error.h"
#include "tutti/base/log.h"
#include "tutti/base/text.h"
#include "tutti/mesh/engines/exchange.h"

namespace tutti::nccl {

namespace {

using namespace std::chrono_literals;

// For the control plane to say who is lost, once NCCL has noticed that someone is.
constexpr auto for_a_word = 500ms;
// For the GPU to leave NCCL's kernels after an abort, and for what was sent to arrive at the end.
constexpr auto for_the_gpu = 5s;

void require(cudaError_t result, const char* what, int ordinal) {
  if (result == cudaSuccess) return;
  throw ExchangeFailed(text("GPU ", ordinal, " cannot exchange with others: ", what, ": ", cudaGetErrorString(result), "."),
                       Site());
}

std::string complaint_text(ncclResult_t complaint) {
  const char* const last = library().ncclGetLastError(nullptr);
  std::string out = library().ncclGetErrorString(complaint);
  if (last != nullptr && *last != '\0') out += text("; ", printable(last, 200));
  return out;
}

void rest(std::chrono::nanoseconds time, Deadline deadline) {
  if (deadline) time = std::min<std::chrono::nanoseconds>(time, *deadline - Clock::now());
  if (time.count() > 0) std::this_thread::sleep_for(time);
}

}  // namespace

Communicator::Communicator(Rendezvous& rendezvous, const std::string& key, int size, int index, int ordinal, Deadline deadline)
    : size_(size), index_(index), ordinal_(ordinal) {
  if (find_library() == nullptr) throw InvalidState(why_absent(), Site());
  const Asked asked{"the first meeting", 0, deadline};
  require(cudaSetDevice(ordinal_), "choosing it", ordinal_);
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream", ordinal_);
  stream_.reset(stream);
  cudaEvent_t event = nullptr;
  require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event", ordinal_);
  event_.reset(event);

  ncclUniqueId id{};
  const std::string id_key = key + "/nccl";
  if (index_ == 0) {
    if (const ncclResult_t result = library().ncclGetUniqueId(&id); result != ncclSuccess) give_up_after(asked, result);
    rendezvous.put(id_key, std::string(id.internal, sizeof id.internal));
  } else {
    const std::string told = rendezvous.get(id_key, deadline);
    if (told.size() != sizeof id.internal) throw ExchangeFailed(text("'", id_key, "' holds no id of NCCL."), Site());
    std::memcpy(id.internal, told.data(), sizeof id.internal);
  }
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  complete(asked, library().ncclCommInitRankConfig(&communicator_, size_, id, index_, &config));
}

Communicator::~Communicator() { close(Clock::now() + for_the_gpu); }

std::string Communicator::describe(const Asked& asked) const {
  const std::string what = asked.bytes == 0 ? std::string(asked.name) : text(asked.name, " of ", human_bytes(asked.bytes));
  return text(what, " between ", size_, " GPUs");
}

std::string Communicator::why() const {
  const std::lock_guard lock(guard_);
  return why_;
}

void Communicator::note(std::string_view why) noexcept {
  const std::lock_guard lock(guard_);
  if (!is_failed_.load()) why_ = why;
  is_failed_.store(true);
}

void Communicator::fail(std::string_view why) noexcept { note(why); }

void Communicator::begin(const Asked& asked) {
  if (is_failed_.load()) give_up(asked, why(), false);
  check(asked, cudaSetDevice(ordinal_));
}

template <class IsDone>
void Communicator::wait_for(const Asked& asked, IsDone&& is_done) {
  const cuda::Pause pause;
  while (!is_done()) {
    if (is_failed_.load()) give_up(asked, why(), false);
    if (asked.deadline && Clock::now() >= *asked.deadline) {
      give_up(asked,
              text("its deadline passed while GPU ", ordinal_, " of member ", index_,
                   " waited for the others; NCCL does not tell which of them is missing"),
              true);
    }
    rest(pause.next(), asked.deadline);
  }
}

void Communicator::complete(const Asked& asked, ncclResult_t result) {
  if (!is_well(result)) give_up_after(asked, result);
  if (result == ncclSuccess) return;
  wait_for(asked, [&] {
    ncclResult_t now = ncclInProgress;
    if (const ncclResult_t answer = library().ncclCommGetAsyncError(communicator_, &now); answer != ncclSuccess) now = answer;
    if (!is_well(now)) give_up_after(asked, now);
    return now == ncclSuccess;
  });
}

void Communicator::check(const Asked& asked, cudaError_t result) {
  if (result != cudaSuccess) give_up(asked, text("GPU ", ordinal_, " failed (", cudaGetErrorString(result), ")"), false);
}

void Communicator::finish(const Asked& asked) {
  check(asked, cudaEventRecord(event_.get(), stream_.get()));
  wait_for(asked, [&] {
    const cudaError_t reached = cudaEventQuery(event_.get());
    if (reached == cudaSuccess) return true;
    if (reached != cudaErrorNotReady) check(asked, reached);
    ncclResult_t now = ncclSuccess;
    if (const ncclResult_t answer = library().ncclCommGetAsyncError(communicator_, &now); answer != ncclSuccess) now = answer;
    if (!is_well(now)) give_up_after(asked, now);
    return false;
  });
}

void Communicator::give_up_after(const Asked& asked, ncclResult_t complaint) {
  const std::string own = text("another member is gone, or cannot be reached (NCCL: ", complaint_text(complaint), ")");
  const auto late = std::min(Clock::now() + for_a_word, asked.deadline.value_or(Clock::time_point::max()));
  while (!is_failed_.load() && Clock::now() < late) std::this_thread::sleep_for(1ms);
  give_up(asked, is_failed_.load() ? why() : own, false);
}

void Communicator::give_up(const Asked& asked, const std::string& reason, bool is_late) {
  note(reason);
  abort();
  const std::string said = text(describe(asked), is_late ? " was given up: " : " failed: ", reason,
                                ". These GPUs need a new exchange; NCCL_DEBUG=WARN makes NCCL say more.");
  if (is_late) throw DeadlineExceeded(said, Site());
  throw ExchangeFailed(said, Site());
}

// Its kernels end, whatever they wait for, and the memory they wrote can be used for something else.
void Communicator::abort() noexcept {
  if (communicator_ == nullptr) return;
  const ncclComm_t ending = communicator_;
  communicator_ = nullptr;
  library().ncclCommAbort(ending);
  const auto late = Clock::now() + for_the_gpu;
  while (cudaStreamQuery(stream_.get()) == cudaErrorNotReady) {
    if (Clock::now() >= late) {
      log(LogLevel::warning,
          text("GPU ", ordinal_, " still runs a kernel of NCCL ", for_the_gpu.count(), " s after it was aborted"));
      return;
    }
    std::this_thread::sleep_for(200us);
  }
}

void Communicator::close(Deadline deadline) noexcept {
  if (communicator_ == nullptr) return;
  if (is_failed_.load()) return abort();
  if (cudaSetDevice(ordinal_) != cudaSuccess) return;  // the process ends, and CUDA has left before
  ncclResult_t now = library().ncclCommFinalize(communicator_);
  while (now == ncclInProgress && (!deadline || Clock::now() < *deadline)) {
    std::this_thread::sleep_for(100us);
    if (const ncclResult_t answer = library().ncclCommGetAsyncError(communicator_, &now); answer != ncclSuccess) now = answer;
  }
  note("it was closed");
  if (now != ncclSuccess) return abort();
  library().ncclCommDestroy(communicator_);
  communicator_ = nullptr;
}

}  // namespace tutti::nccl

// What the GPU did and when it was asked to, from CUPTI's activity records.
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tutti/trace/recorder/recorder.h"

namespace tutti::tracing {

namespace {

constexpr std::size_t buffer_bytes = 1U << 20;
constexpr std::size_t buffer_alignment = 8;
constexpr std::size_t most_in_a_record = 8192;
constexpr long flush_every = 500'000'000;  // ns

// Which struct a record is depends on CUPTI's version; later ones append fields. Those that are read here lie at the same place
// in all of CUDA 12.0 to 13.0, so that the oldest will do.
using Kernel = CUpti_ActivityKernel9;
using Copy = CUpti_ActivityMemcpy5;
using Fill = CUpti_ActivityMemset4;
constexpr std::uint32_t next_cupti = 130100;  // the first whose structs are not known

#if CUPTI_API_VERSION >= 130000
template <class A, class B>
constexpr bool times_are_equally_placed =
    offsetof(A, kind) == offsetof(B, kind) && offsetof(A, start) == offsetof(B, start) && offsetof(A, end) == offsetof(B, end) &&
    offsetof(A, correlationId) == offsetof(B, correlationId) && offsetof(A, streamId) == offsetof(B, streamId) &&
    offsetof(A, deviceId) == offsetof(B, deviceId);
static_assert(times_are_equally_placed<Kernel, CUpti_ActivityKernel10> &&
              offsetof(Kernel, name) == offsetof(CUpti_ActivityKernel10, name));
static_assert(times_are_equally_placed<Copy, CUpti_ActivityMemcpy6> &&
              offsetof(Copy, bytes) == offsetof(CUpti_ActivityMemcpy6, bytes));
static_assert(sizeof(SubscriberParams) == CUpti_SubscriberParams_STRUCT_SIZE);
#endif

// Of a version as cuptiGetVersion() tells it: 130201 is 13.2.
std::string about_version(std::uint32_t version) {
  if (version < next_cupti) return "";
  return "CUPTI " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         " is newer than this recorder: what the GPU did is read as CUPTI 13.0 writes it";
}

std::atomic<std::size_t> buffers_out{0};  // that CUPTI has

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *most_records = 0;
  if (*buffer != nullptr) ++buffers_out;
}

template <class Body>
class Batch {
 public:
  explicit Batch(RecordKind kind) : kind_(kind) {}
  void add(const Body& body) {
    bodies_.push_back(body);
    if (bodies_.size() == most_in_a_record) write();
  }
  void write() {
    const bool is_kept = bodies_.empty() || recorder().output.append(kind_, bodies_.data(), bodies_.size() * sizeof(Body));
    if (!is_kept) recorder().unkept_work += bodies_.size();
    bodies_.clear();
  }

 private:
  RecordKind kind_;
  std::vector<Body> bodies_;
};

void take_records(std::uint8_t* buffer, std::size_t valid) {
  Recorder& all = recorder();
  Batch<WorkBody> work(RecordKind::work);
  Batch<LaunchBody> launches(RecordKind::launch);
  std::unordered_map<const char*, std::uint32_t> names;  // CUPTI keeps one copy of a kernel's name
  const std::uint32_t copy = all.output.text("copy");
  const std::uint32_t fill = all.output.text("memset");
  CUpti_Activity* record = nullptr;
  while (all.cupti.next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL) {
      const auto& in = *reinterpret_cast<const Kernel*>(record);
      std::uint32_t& name = names[in.name];
      if (name == 0) name = all.output.text(in.name == nullptr ? "kernel" : in.name);
      work.add({in.start, in.end, 0, name, in.correlationId, in.streamId, static_cast<std::uint16_t>(in.deviceId),
                WorkKind::kernel, 0});
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      const auto& in = *reinterpret_cast<const Copy*>(record);
      work.add({in.start, in.end, in.bytes, copy, in.correlationId, in.streamId, static_cast<std::uint16_t>(in.deviceId),
                WorkKind::copy, 0});
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      const auto& in = *reinterpret_cast<const Fill*>(record);
      work.add({in.start, in.end, in.bytes, fill, in.correlationId, in.streamId, static_cast<std::uint16_t>(in.deviceId),
                WorkKind::fill, 0});
    } else if (record->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
      const auto& in = *reinterpret_cast<const CUpti_ActivityAPI*>(record);
      launches.add({in.start, in.end, in.correlationId, in.threadId});
    }
  }
  work.write();
  launches.write();
}

void take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  try {
    if (recorder().output.is_open() && valid != 0) take_records(buffer, valid);
  } catch (...) {
    ++recorder().unkept_work;
  }
  --buffers_out;
  std::free(buffer);
}

// CUPTI hands over buffers that are full; what is in the others comes when it is asked for. By a thread of its own, never from a
// callback, and not while the process forks: a child would find CUPTI's locks taken for ever.
pthread_mutex_t flushing = PTHREAD_MUTEX_INITIALIZER;
bool is_over = false;  // under `flushing`

void* flush_again_and_again(void*) {
  (void)::pthread_setname_np(::pthread_self(), "tutti-trace");
  for (;;) {
    const timespec period{0, flush_every};
    ::nanosleep(&period, nullptr);
    ::pthread_mutex_lock(&flushing);
    const bool goes_on = !is_over && recorder().output.is_open();
    if (goes_on && buffers_out != 0) recorder().cupti.flush_all(0);
    ::pthread_mutex_unlock(&flushing);
    if (!goes_on) return nullptr;
  }
}

bool start_flushing() {
  ::pthread_atfork([] { ::pthread_mutex_lock(&flushing); }, [] { ::pthread_mutex_unlock(&flushing); },
                   [] {
                     is_over = true;
                     ::pthread_mutex_unlock(&flushing);
                   });
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the program's threads
  pthread_t thread{};
  const bool is_started = ::pthread_create(&thread, nullptr, flush_again_and_again, nullptr) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (is_started) ::pthread_detach(thread);
  return is_started;
}

bool is_launch(std::string_view name) {
  constexpr std::string_view beginnings[] = {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset"};
  for (const std::string_view beginning : beginnings) {
    if (name.starts_with(beginning)) return true;
  }
  return false;
}

void enable_launches(const CuptiLibrary& cupti) {
  for (CUpti_CallbackId function = 1, unnamed = 0; function < Recorder::most_functions && unnamed < 64; ++function) {
    const char* name = nullptr;
    const bool has_name =
        cupti.get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, function, &name) == CUPTI_SUCCESS && name != nullptr;
    unnamed = has_name ? 0 : unnamed + 1;
    if (has_name && is_launch(name)) cupti.enable_driver_call(function, 1);
  }
}

}  // namespace

std::string Recorder::record_work() {
  if (cupti.register_timestamp == nullptr || cupti.register_timestamp(now) != CUPTI_SUCCESS)
    return "this CUPTI keeps no time of the host's: what the GPU does is not recorded";
  std::uint32_t version = 0;
  if (cupti.get_version(&version) == CUPTI_SUCCESS) {
    if (const std::string words = about_version(version); !words.empty()) output.note(words);
  }
  CUptiResult result = cupti.register_buffers(give_buffer, take_buffer);
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    if (result == CUPTI_SUCCESS) result = cupti.enable_activity(kind);
  if (cupti.enable_driver_call != nullptr) {
    enable_launches(cupti);
  } else if (result == CUPTI_SUCCESS) {
    result = cupti.enable_activity(CUPTI_ACTIVITY_KIND_DRIVER);
    output.note("CUPTI before CUDA 12.5 tells of all calls of the driver, not of launches alone: recording costs more");
  }
  if (result != CUPTI_SUCCESS) return "what the GPU does is not recorded: " + cupti.describe(result);
  if (!start_flushing()) return "what the GPU does is written only when the program ends: no thread could be started for it";
  return "";
}

void Recorder::end_work() {
  if (cupti.flush_all == nullptr) return;
  ::pthread_mutex_lock(&flushing);
  is_over = true;
  ::pthread_mutex_unlock(&flushing);
  cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

}  // namespace tutti::tracing

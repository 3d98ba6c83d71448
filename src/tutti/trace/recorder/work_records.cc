// What the GPU did and when it was asked to, from CUPTI's activity records.
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tutti/trace/recorder/recorder.h"

namespace tutti::tracing {

namespace {

constexpr std::size_t buffer_bytes = 1U << 20;
constexpr std::size_t buffer_alignment = 8;
constexpr std::size_t most_in_a_record = 8192;
constexpr std::uint32_t flush_every_ms = 500;

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *most_records = 0;
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
    if (!bodies_.empty()) recorder().output.append(kind_, bodies_.data(), bodies_.size() * sizeof(Body));
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
      const auto& in = *reinterpret_cast<const CUpti_ActivityKernel9*>(record);
      std::uint32_t& name = names[in.name];
      if (name == 0) name = all.output.text(in.name == nullptr ? "kernel" : in.name);
      work.add({in.start, in.end, 0, name, in.correlationId, in.streamId, static_cast<std::uint16_t>(in.deviceId),
                WorkKind::kernel, 0});
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      const auto& in = *reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
      work.add({in.start, in.end, in.bytes, copy, in.correlationId, in.streamId, static_cast<std::uint16_t>(in.deviceId),
                WorkKind::copy, 0});
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      const auto& in = *reinterpret_cast<const CUpti_ActivityMemset4*>(record);
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
    ++recorder().unkept;
  }
  std::free(buffer);
}

bool is_launch(std::string_view name) {
  constexpr std::string_view beginnings[] = {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset"};
  for (const std::string_view beginning : beginnings) {
    if (name.starts_with(beginning)) return true;
  }
  return false;
}

}  // namespace

std::string Recorder::record_work() {
  if (cupti.register_timestamp == nullptr || cupti.register_timestamp(now) != CUPTI_SUCCESS)
    return "this CUPTI keeps no time of the host's: what the GPU does is not recorded";
  CUptiResult result = cupti.register_buffers(give_buffer, take_buffer);
  for (const CUpti_ActivityKind kind :
       {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    if (result == CUPTI_SUCCESS) result = cupti.enable_activity(kind);
  for (CUpti_CallbackId function = 1, unnamed = 0; function < most_functions && unnamed < 64; ++function) {
    const char* name = nullptr;
    const bool has_name =
        cupti.get_callback_name(CUPTI_CB_DOMAIN_DRIVER_API, function, &name) == CUPTI_SUCCESS && name != nullptr;
    unnamed = has_name ? 0 : unnamed + 1;
    if (has_name && is_launch(name)) cupti.enable_driver_activity(function, 1);
  }
  if (result != CUPTI_SUCCESS) return "what the GPU does is not recorded: " + cupti.describe(result);
  cupti.flush_period(flush_every_ms);
  return "";
}

void Recorder::flush_work() {
  if (cupti.flush_all != nullptr) cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

}  // namespace tutti::tracing

#include "tutti/hal/sync_reason.h"

namespace tutti {

const char* to_string(SyncReason reason) noexcept {
  switch (reason) {
    case SyncReason::value_read: return "value read";
    case SyncReason::data_dependent_shape: return "data-dependent shape";
    case SyncReason::tensor_sync: return "tensor sync";
    case SyncReason::stream_sync: return "stream sync";
    case SyncReason::event_sync: return "event sync";
    case SyncReason::device_sync: return "device sync";
    case SyncReason::all_devices_sync: return "all devices sync";
    case SyncReason::barrier: return "barrier";
    case SyncReason::collective: return "collective";
    case SyncReason::pageable_staging: return "pageable staging";
    case SyncReason::memory_pressure: return "memory pressure";
    case SyncReason::memory_mapping: return "memory mapping";
    case SyncReason::memory_trimming: return "memory trimming";
    case SyncReason::memory_remapping: return "memory remapping";
    case SyncReason::back_pressure: return "back-pressure";
    case SyncReason::module_load: return "module load";
    case SyncReason::capture_start: return "capture start";
    case SyncReason::joining: return "joining the job";
    case SyncReason::shutdown: return "shutdown";
  }
  return "unknown";
}

const char* to_string(Intent intent) noexcept {
  switch (intent) {
    case Intent::unstated: return "unstated";
    case Intent::print: return "print";
    case Intent::log: return "log";
    case Intent::store: return "store";
    case Intent::branch: return "branch";
    case Intent::measure: return "measure";
  }
  return "unknown";
}

}  // namespace tutti

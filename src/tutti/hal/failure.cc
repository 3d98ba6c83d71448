#include "tutti/hal/failure.h"

#include <mutex>
#include <utility>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/hal/carried_error.h"

namespace tutti {

namespace {

// Failures are rare: one lock serves every cell, so that a reader never meets a failure being let go.
std::mutex& cells_mutex() {
  static std::mutex& instance = *new std::mutex;
  return instance;
}

}  // namespace

std::string Failure::to_string() const { return text(reason, " (op ", op, " on ", device, ")"); }

void Failure::raise(const std::string& also) const {
  set_told();
  if (carried) {
    try {
      std::rethrow_exception(carried);
    } catch (const CarriedError& e) {
      e.raise(also);
    }
  }
  const std::string message = to_string() + also;
  switch (kind) {
    case FailureKind::copy: throw CopyFailed(message, site);
    case FailureKind::device_lost: throw DeviceLost(message, site);
    case FailureKind::cancelled: throw Cancelled(message, site);
    case FailureKind::kernel: break;
  }
  throw KernelFailed(message, site);
}

void FailureCell::set(FailureRef failure) noexcept {
  FailureRef* fresh = failure ? new FailureRef(std::move(failure)) : nullptr;
  const std::lock_guard lock(cells_mutex());
  delete held_.exchange(fresh, std::memory_order_acq_rel);
}

FailureRef FailureCell::get_held() const noexcept {
  const std::lock_guard lock(cells_mutex());
  const FailureRef* held = held_.load(std::memory_order_acquire);
  return held != nullptr ? *held : nullptr;
}

FailureRef failure_from(std::exception_ptr thrown, FailureKind kind, const char* op, const std::string& device, Site site) {
  std::string reason = "an exception that is not a std::exception was thrown";
  std::exception_ptr carried;
  try {
    std::rethrow_exception(thrown);
  } catch (const CarriedError& e) {
    reason = e.message();
    carried = std::move(thrown);
  } catch (const Error& e) {
    reason = e.message();
  } catch (const std::exception& e) {
    reason = e.what();
  } catch (...) {  // the reason above says all there is to know
  }
  return std::make_shared<const Failure>(kind, std::move(reason), op, device, site, std::move(carried));
}

}  // namespace tutti

// The one family of exceptions a user of tutti can meet.
#pragma once

#include <stdexcept>
#include <string>

#include "tutti/base/site.h"

namespace tutti {

// A message is a sentence (what was asked, what was found, what to do) followed by the user's own file and line.
class Error : public std::runtime_error {
 public:
  Error(const std::string& message, Site site);

  [[nodiscard]] Site site() const noexcept { return site_; }
  // What what() says, without the file and line at its end.
  [[nodiscard]] std::string message() const { return std::string(what(), length_); }

 private:
  Site site_;
  std::size_t length_;
};

// clang-format off
// Misuse, reported at the call.
struct InvalidArgument : Error { using Error::Error; };
struct InvalidDeviceName : InvalidArgument { using InvalidArgument::InvalidArgument; };
struct UnknownDevice : InvalidArgument { using InvalidArgument::InvalidArgument; };
struct ShapeError : InvalidArgument { using InvalidArgument::InvalidArgument; };
struct DTypeError : InvalidArgument { using InvalidArgument::InvalidArgument; };
struct UnknownOp : InvalidArgument { using InvalidArgument::InvalidArgument; };
struct CopyForbidden : InvalidArgument { using InvalidArgument::InvalidArgument; };

// The program is in a state in which the call cannot work.
struct InvalidState : Error { using Error::Error; };
struct SyncForbidden : InvalidState { using InvalidState::InvalidState; };
struct ConfigurationFrozen : InvalidState { using InvalidState::InvalidState; };

struct OutOfMemory : Error { using Error::Error; };
struct DeadlineExceeded : Error { using Error::Error; };

// Failures in flight: they travel with their origin and are thrown at the first read or sync.
struct AsyncError : Error { using Error::Error; };
struct KernelFailed : AsyncError { using AsyncError::AsyncError; };
struct CopyFailed : AsyncError { using AsyncError::AsyncError; };
struct DeviceLost : AsyncError { using AsyncError::AsyncError; };
struct Cancelled : AsyncError { using AsyncError::AsyncError; };
// clang-format on

}  // namespace tutti

// Errors that keep their type where work fails with them.
#pragma once

#include <string>

#include "tutti/base/error.h"

namespace tutti {

// Whoever reads or syncs what the work has spoiled gets it as it was thrown. Any other error of work is thrown as an AsyncError.
class CarriedError : public Error {
 public:
  using Error::Error;
  // Throws the same again. `also`: what else the message is to say.
  [[noreturn]] virtual void raise(const std::string& also) const = 0;
};

}  // namespace tutti

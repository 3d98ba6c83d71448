// What is thrown about files.
#pragma once

#include "tutti/base/error.h"

namespace tutti {

// A file cannot be read or written, or is not what it was taken for. Says which byte, where it is one.
struct FileError : Error {
  using Error::Error;
};

}  // namespace tutti

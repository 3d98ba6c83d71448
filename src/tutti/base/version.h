// The version of the library.
#pragma once

namespace tutti {

// "0.1.0"
const char* version() noexcept;

}  // namespace tutti

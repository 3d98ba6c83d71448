#include "tutti/mesh/control/job_secret.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

namespace tutti {

std::string make_job_secret() {
  std::array<unsigned char, 16> random{};
  // So few bytes come whole or not at all.
  while (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  static constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : random) {
    out += hex[byte >> 4U];
    out += hex[byte & 15U];
  }
  return out;
}

}  // namespace tutti

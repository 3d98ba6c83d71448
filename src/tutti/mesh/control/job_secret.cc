#include "tutti/mesh/control/job_secret.h"

#include <set>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/mesh/wire/random_bytes.h"

namespace tutti {

std::string make_job_secret() {
  static constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (const char byte : wire::random_bytes(16)) {
    out += hex[static_cast<unsigned char>(byte) >> 4U];
    out += hex[static_cast<unsigned char>(byte) & 15U];
  }
  return out;
}

void check_job_secret(std::string_view secret, Site site) {
  constexpr std::size_t least = 16;
  constexpr std::size_t least_different = 6;
  const std::size_t different = std::set<char>(secret.begin(), secret.end()).size();
  if (secret.size() >= least && different >= least_different) return;
  throw InvalidArgument(text(secret.empty() ? std::string("a job needs a secret that strangers cannot guess, and there is none")
                                            : text("a job's secret of ", secret.size(), " characters, ", different,
                                                   " of them different, can be guessed: it needs ", least, " at least, and ",
                                                   least_different, " different ones"),
                             "; set TUTTI_JOB_SECRET for all to what `openssl rand -hex 16` prints"),
                        site);
}

}  // namespace tutti

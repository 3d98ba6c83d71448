// Where processes that cannot talk yet leave each other short texts: the coordinator's key-value store, or a test's own.
#pragma once

#include <string>

#include "tutti/base/clock.h"

namespace tutti {

class Rendezvous {
 public:
  Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  virtual ~Rendezvous() = default;

  // A value may hold any bytes; a key is put once.
  virtual void put(const std::string& key, const std::string& value) = 0;
  // Waits for the key; throws DeadlineExceeded, or what ended the job.
  virtual std::string get(const std::string& key, Deadline deadline) = 0;
};

}  // namespace tutti

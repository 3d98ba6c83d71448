// Texts about a device's memory: why a request could not be served, and what is still owned at the end.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tutti/memory/device_memory.h"

namespace tutti {

struct OutOfMemoryFacts {
  std::string device;
  std::size_t request = 0;
  MemoryInfo info;
  std::string refusal;  // what the device answered; empty when the limit was in the way
  std::vector<MemoryOwner> owners;
  std::string stalled;  // work that holds memory and did not get done (pending_work); empty: none was waited for in vain
};

// A table of at most 80 columns; the error puts the site of the request after it.
std::string out_of_memory_text(const OutOfMemoryFacts& facts);

// Who still owns memory, by call site; empty when nobody does.
std::string leak_report(const DeviceMemory& memory);

}  // namespace tutti

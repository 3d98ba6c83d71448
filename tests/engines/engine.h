// The engines that every test of an exchange runs over.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tutti/mesh/engines/exchange.h"
#include "tutti/mesh/engines/rendezvous.h"

namespace tutti::testing_engines {

enum class Engine { shared_memory, small_slabs, sockets, readable_sockets };

inline std::string name_of(Engine engine) {
  switch (engine) {
    case Engine::shared_memory: return "SharedMemory";
    case Engine::small_slabs: return "SharedMemoryInSmallSlabs";
    case Engine::sockets: return "Sockets";
    case Engine::readable_sockets: break;
  }
  return "ReadableSockets";
}
inline void PrintTo(Engine engine, std::ostream* out) { *out << name_of(engine); }

inline bool goes_through_sockets(Engine engine) { return engine == Engine::sockets || engine == Engine::readable_sockets; }

// All that differ in how a member is lost.
std::vector<Engine> all_engines();

std::unique_ptr<Exchange> open_exchange(Engine engine, Rendezvous& rendezvous, const std::string& key, int size, int index);

}  // namespace tutti::testing_engines

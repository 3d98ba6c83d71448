#include "engines/engine.h"

#include "engines/processes.h"
#include "tutti/mesh/engines/gloo_exchange.h"
#include "tutti/mesh/engines/shared_exchange.h"

namespace tutti::testing_engines {

std::vector<Engine> all_engines() {
  std::vector<Engine> engines{Engine::shared_memory, Engine::small_slabs};
  if (has_gloo()) engines.push_back(Engine::gloo);
  return engines;
}

std::unique_ptr<Exchange> open_exchange(Engine engine, Rendezvous& rendezvous, const std::string& key, int size, int index) {
  if (engine == Engine::gloo) {
    // Several chunks where the tests' largest are reduced.
    return open_gloo_exchange(rendezvous, key, size, index, in(std::chrono::seconds(30)), {.chunk = std::size_t{128} << 10U});
  }
  SharedExchangeOptions options;
  if (engine == Engine::small_slabs) options.slab = 8192;  // many chunks
  return SharedExchange::open(rendezvous, key, size, index, in(std::chrono::seconds(30)), options);
}

}  // namespace tutti::testing_engines

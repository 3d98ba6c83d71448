#include "engines/engine.h"

#include "engines/processes.h"
#include "tutti/mesh/engines/shared_exchange.h"
#include "tutti/mesh/engines/socket_exchange.h"

namespace tutti::testing_engines {

std::vector<Engine> all_engines() { return {Engine::shared_memory, Engine::small_slabs, Engine::sockets}; }

std::unique_ptr<Exchange> open_exchange(Engine engine, Rendezvous& rendezvous, const std::string& key, int size, int index) {
  if (goes_through_sockets(engine)) {
    // Several chunks where the tests' largest are reduced.
    return open_socket_exchange(
        rendezvous, key, size, index, in(std::chrono::seconds(30)),
        {.secret = "a secret of a test", .encrypts = engine == Engine::sockets, .chunk = std::size_t{128} << 10U});
  }
  SharedExchangeOptions options;
  if (engine == Engine::small_slabs) options.slab = 8192;  // many chunks
  return SharedExchange::open(rendezvous, key, size, index, in(std::chrono::seconds(30)), options);
}

}  // namespace tutti::testing_engines

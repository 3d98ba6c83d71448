#include "engines/engine.h"

#include "engines/processes.h"
#include "tutti/mesh/engines/shared_exchange.h"

namespace tutti::testing_engines {

std::unique_ptr<Exchange> open_exchange(Engine engine, Rendezvous& rendezvous, const std::string& key, int size, int index) {
  SharedExchangeOptions options;
  if (engine == Engine::small_slabs) options.slab = 1024;  // hundreds of chunks
  return SharedExchange::open(rendezvous, key, size, index, in(std::chrono::seconds(30)), options);
}

}  // namespace tutti::testing_engines

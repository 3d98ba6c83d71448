#include "tutti/backends/strand/driver.h"

#include "tutti/backends/strand/stepped.h"
#include "tutti/backends/strand/worker_pool.h"
#include "tutti/hal/simulation.h"

namespace tutti {

namespace {

std::shared_ptr<SteppedDriver>& stepped() {
  static auto& instance = *new std::shared_ptr<SteppedDriver>;
  return instance;
}

}  // namespace

std::shared_ptr<StrandDriver> make_driver(unsigned workers, const char* name, bool lends_cores) {
  if (simulation().options.driver == SimulationDriver::stepped) {
    if (!stepped()) stepped() = std::make_shared<SteppedDriver>(simulation().options.seed);
    return stepped();
  }
  return std::make_shared<WorkerPool>(workers, name, lends_cores);
}

std::shared_ptr<StrandDriver> make_thread(const char* name) { return make_driver(1, name, false); }

std::vector<ScheduleStep> stepped_schedule() { return stepped() ? stepped()->schedule() : std::vector<ScheduleStep>{}; }

}  // namespace tutti

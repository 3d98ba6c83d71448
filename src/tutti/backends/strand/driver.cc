#include "tutti/backends/strand/driver.h"

#include "tutti/backends/strand/own_thread.h"
#include "tutti/backends/strand/stepped.h"
#include "tutti/backends/strand/worker_pool.h"
#include "tutti/hal/simulation.h"

namespace tutti {

namespace {

std::shared_ptr<SteppedDriver>& stepped() {
  static auto& instance = *new std::shared_ptr<SteppedDriver>;
  return instance;
}

bool is_stepped() { return simulation().options.driver == SimulationDriver::stepped; }

std::shared_ptr<StrandDriver> the_scheduler() {
  if (!stepped()) stepped() = std::make_shared<SteppedDriver>(simulation().options.seed);
  return stepped();
}

}  // namespace

std::shared_ptr<StrandDriver> make_driver(unsigned workers, const char* name, bool lends_cores) {
  if (is_stepped()) return the_scheduler();
  return std::make_shared<WorkerPool>(workers, name, lends_cores);
}

std::shared_ptr<StrandDriver> make_thread(const char* name) {
  if (is_stepped()) return the_scheduler();
  return std::make_shared<OwnThread>(name);
}

std::vector<ScheduleStep> stepped_schedule() { return stepped() ? stepped()->schedule() : std::vector<ScheduleStep>{}; }

}  // namespace tutti

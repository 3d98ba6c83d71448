// The backends under test: one set of promises, run on each. A new backend is one more line in backend.cc.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::conformance {

struct BackendCase {
  std::string name;
  std::string type;                       // of the devices under test; there are two, with indices 0 and 1
  std::string backend;                    // that must be behind them, else the test is skipped
  void (*configure)(std::uint64_t seed);  // before first use
  std::uint64_t seed = 0;                 // of the schedule, where it can be chosen
  bool is_synchronous = false;            // ops whose inputs are ready have run when they return
};

inline std::ostream& operator<<(std::ostream& out, const BackendCase& backend) { return out << backend.name; }

std::vector<BackendCase> backends();
inline std::string name_of(const testing::TestParamInfo<BackendCase>& backend) { return backend.param.name; }

// Opens the backend; ops run on its device 0 unless the test says otherwise.
class OnBackend : public testing::TestWithParam<BackendCase> {
 protected:
  void SetUp() override;

  [[nodiscard]] std::string device(unsigned index) const { return GetParam().type + ":" + std::to_string(index); }
  // The two under test and, where they are GPUs, the CPU.
  [[nodiscard]] std::vector<std::string> all_devices() const;
  // Settings are per thread: every thread a test starts calls this first.
  void enter_thread() const { set_synchronous_execution(GetParam().is_synchronous); }

 private:
  std::optional<DeviceScope> scope_;
};

}  // namespace tutti::conformance

#define TUTTI_ON_EVERY_BACKEND(Suite) \
  INSTANTIATE_TEST_SUITE_P(On, Suite, testing::ValuesIn(::tutti::conformance::backends()), ::tutti::conformance::name_of)

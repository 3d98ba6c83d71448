// Every collective of every engine gives what one process would work out, to the last bit.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "engines/engine.h"
#include "engines/exchange_checks.h"
#include "engines/processes.h"

namespace tutti::testing_engines {

class Collectives : public testing::TestWithParam<std::tuple<Engine, int>> {
 protected:
  static Engine engine() { return std::get<0>(GetParam()); }
  static int size() { return std::get<1>(GetParam()); }

  void run(const std::function<void(Exchange&)>& body) {
    Processes processes(size(), [&](int index) { body(*open_exchange(engine(), board_, "exchange", size(), index)); });
    processes.expect_success();
  }

 private:
  Blackboard board_;
};
const auto name_of_case = [](const auto& it) { return name_of(std::get<0>(it.param)) + std::to_string(std::get<1>(it.param)); };
INSTANTIATE_TEST_SUITE_P(Engines, Collectives, testing::Combine(testing::ValuesIn(all_engines()), testing::Range(1, 9)),
                         name_of_case);
// They differ in what is sealed alone.
INSTANTIATE_TEST_SUITE_P(WithoutEncryption, Collectives,
                         testing::Combine(testing::Values(Engine::readable_sockets), testing::Values(2, 5)), name_of_case);

TEST_P(Collectives, ReduceEveryDtypeToTheLastBit) { run(check_reductions); }

TEST_P(Collectives, MoveBytesWhereTheyBelong) { run(check_movements); }

TEST_P(Collectives, FollowEachOtherInAnyOrder) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  const int rounds = is_sanitized() || goes_through_sockets(engine()) ? 60 : 150;
  run([&](Exchange& exchange) { check_sequence(exchange, rounds, seed); });
}

TEST_P(Collectives, LetANanWinAndKeepTheFirstOfEqualZeros) { run(check_nans_and_zeros); }

TEST_P(Collectives, RefuseWhatTheOpsRefuse) { run(check_refusals); }

}  // namespace tutti::testing_engines

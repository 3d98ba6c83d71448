// What a collective between processes did is in the journal: how long it waited for the others, and how long it exchanged.
#include "tutti/journal/journal.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "processes/job.h"
#include "tutti/diag/sync_report.h"
#include "tutti/journal/chrome_trace.h"

namespace tutti {

namespace {

using namespace testing_processes;
using Entry = journal::Event;
using journal::EventKind;

struct Times {
  std::atomic<bool> has_begun;
  std::atomic<Nanoseconds> last_came;
};

std::optional<Entry> find_event(EventKind kind, const std::string& name) {
  for (const journal::ThreadEvents& thread : journal::snapshot().threads) {
    for (const Entry& event : thread.events) {
      if (event.kind == kind && event.name == name) return event;
    }
  }
  return std::nullopt;
}

}  // namespace

TEST(ProcessJournal, TellsTheWaitForOthersFromTheExchange) {
  const Witness<Times> times;
  Job job(2, [&](int rank) {
    simulate_gpus(1);
    const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
    const Tensor mine = ones({8});
    (void)read<float>(all_reduce({mine}, mesh, "x", Reduction::sum)[0]);
    if (rank == 1) {
      while (!times->has_begun) std::this_thread::yield();
      times->last_came = now();
    }
    journal::start();
    const Nanoseconds called = now();
    const Site site;
    const Tensor sum = all_reduce({mine}, mesh, "x", Reduction::sum, site)[0];
    times->has_begun = true;
    require(read<float>(sum) == std::vector<float>(8, 2), "the sum");
    journal::stop();

    const std::optional<Entry> waited = find_event(EventKind::roll_call, "AllReduce");
    const std::optional<Entry> exchanged = find_event(EventKind::exchange, "AllReduce");
    require(waited && exchanged, "both are there");
    for (const Entry* event : {&*waited, &*exchanged}) {
      require(event->detail == std::string("world"), "the group's name");
      require(event->value == 8 * sizeof(float), "its bytes");
      require(event->stream != StreamId::none, "on the lane of the group's stream");
      require(event->site.line() == site.line(), "the user's line");
    }
    require(waited->begin >= called, "it began after the call");
    require(waited->end >= times->last_came, "nobody goes on before the last has come");
    require(exchanged->begin >= waited->end && exchanged->end >= exchanged->begin, "the exchange follows");
    const std::optional<Entry> run = find_event(EventKind::run, "AllReduce");
    require(run && run->begin <= waited->begin && run->end >= exchanged->end, "both are parts of one piece of work");
    require(find_event(EventKind::scope, "all_reduce").has_value(), "the call itself is a named scope of the host");

    const std::string trace = journal::to_chrome_trace(journal::snapshot());
    require_in(trace, "\"name\":\"roll call AllReduce\"");
    require_in(trace, "\"name\":\"exchange AllReduce\"");
    require_in(trace, "\"group\":\"world\"");
    const std::string report = sync_report().to_json();
    require_in(report, "\"roll-call\"");
    require_in(report, "\"exchange\"");
  });
  job.expect_success();
}

TEST(ProcessJournal, HasTheWaitOfACollectiveThatFailed) {
  Job job(2, [&](int rank) {
    simulate_gpus(1);
    const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
    journal::start();
    const Tensor sum = all_reduce({ones({rank + 1})}, mesh, "x", Reduction::sum)[0];
    (void)thrown_by<Error>([&] { (void)read<float>(sum); }, 20s);
    journal::stop();
    require(find_event(EventKind::roll_call, "AllReduce").has_value(), "it did wait");
    require(!find_event(EventKind::exchange, "AllReduce").has_value(), "they never exchanged");
  });
  job.expect_success();
}

}  // namespace tutti

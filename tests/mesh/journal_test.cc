// A collective inside one process is one named scope of the journal, around its copies and ops.
#include "tutti/journal/journal.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "tutti/tutti.h"

namespace tutti {

TEST(MeshJournal, HasEachCollectiveAsANamedScopeAroundWhatItEnqueues) {
  simulate_gpus(2);
  const Mesh mesh = create_mesh({{"x", 2}}, {"GPU:0", "GPU:1"});
  const std::vector<Tensor> mine{ones({4}), ones({4})};
  journal::start();
  const Site site;
  const std::vector<Tensor> sums = all_reduce(mine, mesh, "x", Reduction::sum, site);
  const std::vector<Tensor> all = all_gather(mine, mesh, "x", 0);
  journal::stop();
  for (const std::string_view name : {"all_reduce", "all_gather"}) {
    int scopes = 0;
    int inside = 0;
    for (const journal::ThreadEvents& thread : journal::snapshot().threads) {
      for (const journal::Event& scope : thread.events) {
        if (scope.kind != journal::EventKind::scope || scope.name != name) continue;
        ++scopes;
        if (name == "all_reduce") {
          EXPECT_EQ(scope.site.to_string(), site.to_string());
        }
        for (const journal::Event& event : thread.events) {
          if (event.kind != journal::EventKind::enqueue) continue;
          inside += event.begin >= scope.begin && event.end <= scope.end ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(scopes, 1) << name;
    EXPECT_GE(inside, 2) << name << " has work on both devices";
  }
  EXPECT_EQ(read<float>(sums[0]), std::vector<float>(4, 2));
}

}  // namespace tutti

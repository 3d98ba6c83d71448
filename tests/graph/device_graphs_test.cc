// What a device's own graphs are asked for: as much as one can be given, and no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/samples.h"
#include "tutti/hal/stream_graph.h"

namespace tutti::conformance {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;

// Makes none, so that all kernels run one by one.
class NoGraphs final : public StreamGraphs {
 public:
  std::unique_ptr<StreamGraph> make(DeviceStream&, std::size_t, std::span<const std::uint64_t> values, const IssueWith&,
                                    std::span<const std::vector<std::size_t>>, Site) override {
    asked.push_back(values.size());
    return nullptr;
  }
  bool can_make(DeviceStream&, std::span<const std::uint64_t>, const IssueWith&, Site) override { return true; }

  std::vector<std::size_t> asked;  // values of each
};

TEST(DeviceGraphs, OfWhatHasMoreAddressesThanOneCanBeGivenThereAreSeveral) {
  simulate_gpus(1);
  static NoGraphs graphs;
  register_stream_graphs(BackendKind::sim, graphs);
  const DeviceScope on("GPU:0");
  const auto function = [](const std::vector<Tensor>& xs) {
    std::vector<Tensor> out;
    for (const Tensor& x : xs) out.push_back(tanh(x) + uniform(x.shape(), {.key = 3}));
    out.push_back(dropout(xs[0], 0.5));
    return out;
  };
  const auto step = capture(function);
  for (const std::size_t count : {std::size_t{12}, std::size_t{40}}) {
    graphs.asked.clear();
    std::vector<Tensor> xs;
    for (std::size_t i = 0; i < count; ++i) xs.push_back(some(i));
    (void)step(xs);
    set_seed(5);
    const std::vector<Tensor> given = step(xs);
    set_seed(5);
    const std::vector<Tensor> wanted = function(xs);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(is_same(given[i], wanted[i])) << i;
    // An argument and a result for each tensor; another result and a draw.
    EXPECT_THAT(graphs.asked, SizeIs((2 * count + 3 + most_graph_values - 1) / most_graph_values));
    EXPECT_THAT(graphs.asked, Each(Le(most_graph_values)));
  }
  EXPECT_THAT(explain(step), HasSubstr("one by one, because the driver makes no graph of them"));
}

}  // namespace
}  // namespace tutti::conformance

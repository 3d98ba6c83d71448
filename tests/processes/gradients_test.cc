// Gradients through collectives between processes: of the sum of what the processes differentiate, against small changes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "processes/job.h"
#include "tutti/tutti.h"

namespace tutti {

namespace {

using namespace testing_processes;

using Collective = std::function<std::vector<Tensor>(const std::vector<Tensor>& mine, const Mesh& mesh)>;
struct Named {
  std::string name;
  Collective call;
};

std::vector<Named> collectives() {
  std::vector<Named> out;
  for (const auto& [name, reduction] :
       {std::pair("sum", Reduction::sum), std::pair("mean", Reduction::mean), std::pair("min", Reduction::min),
        std::pair("max", Reduction::max), std::pair("prod", Reduction::prod)}) {
    out.push_back({std::string("all_reduce ") + name, [reduction = reduction](const std::vector<Tensor>& mine, const Mesh& mesh) {
                     return all_reduce(mine, mesh, "x", reduction);
                   }});
    out.push_back(
        {std::string("reduce_scatter ") + name, [reduction = reduction](const std::vector<Tensor>& mine, const Mesh& mesh) {
           return reduce_scatter(mine, mesh, "x", 1, reduction);
         }});
  }
  for (std::int64_t root = 0; root < 2; ++root) {
    out.push_back(
        {"broadcast", [root](const std::vector<Tensor>& mine, const Mesh& mesh) { return broadcast(mine, mesh, "x", root); }});
  }
  out.push_back({"all_gather", [](const std::vector<Tensor>& mine, const Mesh& mesh) { return all_gather(mine, mesh, "x", 1); }});
  out.push_back(
      {"all_to_all", [](const std::vector<Tensor>& mine, const Mesh& mesh) { return all_to_all(mine, mesh, "x", 1, 0); }});
  return out;
}

// What device k of the mesh brings, moved along a direction of its own.
Tensor direction(std::size_t k, const Shape& shape) {
  return uniform(shape, {.key = 500 + k, .low = -1, .high = 1, .dtype = DType::f64});
}
std::vector<Tensor> brought(const Mesh& mesh, const Shape& shape, double by) {
  std::vector<Tensor> out;
  for (const std::size_t k : mesh.local_positions())
    out.push_back(uniform(shape, {.key = 900 + k, .low = 0.2, .high = 1.2, .dtype = DType::f64}) + direction(k, shape) * by);
  return out;
}

// One number, every element with a weight of its own, which differ from device to device.
Tensor loss_of(const std::vector<Tensor>& results, const Mesh& mesh) {
  Tensor total;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Tensor weights =
        uniform(results[i].shape(), {.key = 100 + mesh.local_positions()[i], .low = 0.5, .high = 1.5, .dtype = DType::f64});
    const Tensor part = copy_to(sum(square(results[i]) * weights), "CPU:0");
    total = total.is_defined() ? total + part : part;
  }
  return total;
}

double summed_over_ranks(double mine, const Mesh& mesh) {
  std::vector<Tensor> parts(mesh.local_positions().size(), zeros({}, DType::f64));
  parts[0] = constant(mine);
  return item<double>(all_reduce(parts, mesh, "x", Reduction::sum)[0]);
}

void compare(const Named& each, const Mesh& mesh, const Shape& shape) {
  const std::vector<Tensor> mine = brought(mesh, shape, 0);
  std::vector<Tensor> slopes;
  {
    const SyncScope strict(OnSync::error);
    slopes = grad([&](const std::vector<Tensor>& x) { return loss_of(each.call(x, mesh), mesh); })(mine);
  }
  double along = 0;
  for (std::size_t i = 0; i < mine.size(); ++i) {
    require(slopes[i].device() == mine[i].device(), each.name + ": the gradient is where its tensor is");
    along += item<double>(sum(slopes[i] * direction(mesh.local_positions()[i], shape)));
  }
  const double step = 1e-6;
  const auto moved = [&](double by) { return item<double>(loss_of(each.call(brought(mesh, shape, by), mesh), mesh)); };
  const double up = moved(step);
  const double found = summed_over_ranks((up - moved(-step)) / (2 * step), mesh);
  const double expected = summed_over_ranks(along, mesh);
  require(std::abs(expected - found) <= 1e-5 * (1 + std::abs(found)),
          each.name + ": the gradient says " + std::to_string(expected) + ", small changes " + std::to_string(found));
  require(std::abs(found) > 1e-3, each.name + ": it does not change");
}

}  // namespace

TEST(GradientsOfCollectives, BetweenProcessesAreWhatSmallChangesShow) {
  Job job(2, [](int) {
    simulate_gpus(1);
    const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0"});
    for (const Named& each : collectives()) compare(each, mesh, {3, 4});
  });
  job.expect_success();
}

TEST(GradientsOfCollectives, BetweenProcessesOfSeveralDevicesToo) {
  Job job(2, [](int) {
    simulate_gpus(2);
    const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"GPU:0", "GPU:1"});
    for (const Named& each : collectives()) compare(each, mesh, {2, 8});
  });
  job.expect_success();
}

TEST(GradientsOfCollectives, AMeanDividesByTheMembers) {
  Job job(2, [](int rank) {
    const Mesh mesh = create_distributed_mesh({{"x", -1}}, {"CPU:0"});
    const Tensor slope =
        grad([&](const Tensor& x) { return sum(all_reduce({x}, mesh, "x", Reduction::mean)[0]) * (rank + 1); })(ones({2}));
    require(read<float>(slope) == std::vector<float>{1.5F, 1.5F}, "(1 + 2) / 2");
  });
  job.expect_success();
}

TEST(ShardedGradients, OverProcessesAreThoseOfTheWholeTensor) {
  Job job(2, [](int) {
    simulate_gpus(2);
    const Mesh mesh = create_distributed_mesh({{"x", 2}, {"y", 2}}, {"GPU:0", "GPU:1"});
    const Tensor x = uniform({4, 6}, {.key = 1, .dtype = DType::f64});
    const Tensor w = uniform({6, 4}, {.key = 2, .dtype = DType::f64});
    const auto whole = grad<0, 1>([](const Tensor& a, const Tensor& b) { return sum(square(matmul(a, b))); })(x, w);
    for (const char* of_x : {"x", "y"}) {
      const auto [slope_x, slope_w] = grad<0, 1>([](const ShardedTensor& a, const ShardedTensor& b) {
        return sum(square(matmul(a, b)));
      })(shard(x, Layout({of_x, unsharded}, mesh)), shard(w, Layout::replicated(mesh, 2)));
      const auto agree = [](const ShardedTensor& found, const Tensor& expected) {
        return item<bool>(allclose(to_tensor(found, "CPU:0"), expected));
      };
      require(agree(slope_x, std::get<0>(whole)), std::string("of the rows, over ") + of_x);
      require(agree(slope_w, std::get<1>(whole)), std::string("of what every device has, with rows over ") + of_x);
    }
  });
  job.expect_success();
}

}  // namespace tutti

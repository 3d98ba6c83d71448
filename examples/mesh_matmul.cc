// A product over four devices in three layouts, each checked against the product on one device.
// The devices of one process, or of several: tutti launch -n 4 -- ./mesh_matmul
#include <tutti/tutti.h>

#include <iostream>
#include <string>
#include <vector>

namespace tt = tutti;

namespace {

// All processes come to the same result; one of them says so.
void say(const std::string& line) {
  if (tt::process_rank() == 0) std::cout << line << std::endl;
}

// What each device holds, what the product then is, and whether it is right.
bool multiply(const tt::Tensor& a, const tt::Tensor& b, const tt::Layout& rows, const tt::Layout& columns) {
  tt::ShardedTensor c;
  {
    const tt::SyncScope strict(tt::OnSync::error);  // nothing in here waits
    c = tt::matmul(tt::shard(a, rows), tt::shard(b, columns));
  }
  const bool is_right = tt::read<float>(c) == tt::read<float>(tt::matmul(a, b));
  say(rows.specs_text() + " x " + columns.specs_text() + " = " + c.layout().specs_text() + ", shards " +
      to_string(c.shards()[0].shape()) + ": " + (is_right ? "as expected" : "WRONG"));
  return is_right;
}

}  // namespace

int main() {
  const int processes = tt::process_count();
  if (4 % processes != 0) {
    std::cerr << "Four devices cannot be shared out to " << processes << " processes; start 1, 2 or 4.\n";
    return 1;
  }
  // Four devices anywhere: every process has one processor, as so many.
  std::vector<std::string> devices;
  for (int i = 0; i < 4 / processes; ++i) devices.push_back("CPU:" + std::to_string(i));
  tt::set_logical_device_configuration(tt::list_physical_devices("CPU").at(0),
                                       std::vector<tt::LogicalDeviceConfiguration>(devices.size()));
  const tt::Mesh mesh = tt::create_distributed_mesh({{"x", 2}, {"y", 2}}, devices, {}, {.name = "grid"});
  say(mesh.to_string());

  // Whole numbers: sums are exact in any order.
  const tt::Tensor a = tt::cast(tt::randint({64, 32}, -4, 5, {.key = 1}), tt::DType::f32);
  const tt::Tensor b = tt::cast(tt::randint({32, 48}, -4, 5, {.key = 2}), tt::DType::f32);
  bool is_right =
      multiply(a, b, {{"x", tt::unsharded}, mesh}, {{tt::unsharded, "y"}, mesh});  // rows and columns: nothing is sent
  is_right = multiply(a, b, {{tt::unsharded, "x"}, mesh}, {{"x", tt::unsharded}, mesh}) && is_right;  // an all_reduce along x
  is_right = multiply(a, b, {{"x", "y"}, mesh}, {{"y", tt::unsharded}, mesh}) && is_right;            // and along y

  try {
    multiply(a, b, {{"x", tt::unsharded}, mesh}, {{tt::unsharded, "x"}, mesh});
  } catch (const tt::InvalidArgument& e) {
    say(e.message());
  }
  const tt::Layout by_rows({"x", tt::unsharded}, mesh);
  const tt::Layout by_columns({tt::unsharded, "x"}, mesh);
  say("relayout: " + to_string(tt::relayout_steps(by_rows, by_columns), mesh));
  is_right = tt::read<float>(tt::relayout(tt::shard(a, by_rows), by_columns)) == tt::read<float>(a) && is_right;
  return is_right ? 0 : 1;
}

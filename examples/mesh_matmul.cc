// A product over four devices in three layouts, each checked against the plain one.
#include <tutti/tutti.h>

#include <iostream>
#include <string>

namespace tt = tutti;

namespace {

// What each device holds, what the product then is, and whether it is right.
bool multiply(const tt::Tensor& a, const tt::Tensor& b, const tt::Layout& rows, const tt::Layout& columns) {
  tt::ShardedTensor c;
  {
    const tt::SyncScope strict(tt::OnSync::error);  // nothing in here waits
    c = tt::matmul(tt::shard(a, rows), tt::shard(b, columns));
  }
  const bool is_right = tt::read<float>(c) == tt::read<float>(tt::matmul(a, b));
  std::cout << rows.specs_text() << " x " << columns.specs_text() << " = " << c.layout().specs_text() << ", shards "
            << to_string(c.shards()[0].shape()) << ": " << (is_right ? "as expected" : "WRONG") << '\n';
  return is_right;
}

}  // namespace

int main() {
  // Four devices anywhere: one processor as four.
  tt::set_logical_device_configuration(tt::list_physical_devices("CPU").at(0), {{}, {}, {}, {}});
  const tt::Mesh mesh = tt::create_mesh({{"x", 2}, {"y", 2}}, {"CPU:0", "CPU:1", "CPU:2", "CPU:3"}, {.name = "grid"});
  std::cout << mesh.to_string() << '\n';

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
    std::cout << e.message() << '\n';
  }
  const tt::Layout by_rows({"x", tt::unsharded}, mesh);
  const tt::Layout by_columns({tt::unsharded, "x"}, mesh);
  std::cout << "relayout: " << to_string(tt::relayout_steps(by_rows, by_columns), mesh) << '\n';
  is_right = tt::read<float>(tt::relayout(tt::shard(a, by_rows), by_columns)) == tt::read<float>(a) && is_right;
  return is_right ? 0 : 1;
}

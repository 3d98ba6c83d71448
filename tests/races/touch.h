// Ops that claim memory and do not touch it, so that a race that is planted is one to the detector alone; and two streams to
// race.
#pragma once

#include <string>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::testing_races {

// 'r' reads its input, 'w' overwrites it: one letter per input, "wr" is an op that overwrites the first and reads the second.
inline const OpRow& touching(const std::string& letters) {
  static std::vector<const OpRow*> made;
  const std::string name = "Test_" + letters;
  for (const OpRow* row : made) {
    if (row->name == name) return *row;
  }
  std::vector<Access> access;
  for (const char letter : letters) access.push_back(letter == 'w' ? Access::update : Access::read);
  const Kernel nothing = [](const KernelCall&, KernelContext&) {};
  const Infer infer = [](Inference& in) { in.output(DType::u8, {0}); };
  made.push_back(
      &register_op({.name = name, .infer = infer, .access = access, .strided = true}, {.cpu = nothing, .sim = nothing}));
  return *made.back();
}

inline void touch(const std::string& letters, const std::vector<Tensor>& inputs, Site site = {}) {
  (void)call_op(touching(letters), inputs, Attributes(), site);
}
inline void write(const Tensor& x, Site site = {}) { touch("w", {x}, site); }
inline void read_on_device(const Tensor& x, Site site = {}) { touch("r", {x}, site); }

// Two streams of one device, and a tensor there that both may use to begin with.
struct Pair {
  Stream a{"GPU:0"};
  Stream b{"GPU:0"};
  Tensor x;

  explicit Pair(const Shape& shape = {64}) {
    const DeviceScope on("GPU:0");
    x = full(shape, 1.0F, DType::f32);
    synchronize("GPU:0");
  }

  template <class F>
  static void in(Stream& stream, F&& call) {
    const StreamScope scope(stream);
    call();
  }
};

}  // namespace tutti::testing_races

// The attributes of attention, shared by the function that fills them and the kernels that read them.
#pragma once

#include <cstdint>
#include <limits>

namespace tutti {

struct AttentionAttributes {
  double scale = 1;           // of how well a query and a key match
  std::int64_t chunk = 512;   // queries at a time, where all of them at once would take memory by their number times the keys
  bool causal = false;        // a query sees the keys up to its own place
  bool tf32 = false;          // as MatMulAttributes has it
  bool deterministic = true;  // the same bits on every run
  bool has_mask = false;      // the last input, bool, broadcast: where it holds, a query sees the key
};

// How well a query matches a key that it does not see. Where it sees none, all count alike.
inline constexpr float unseen_match = -std::numeric_limits<float>::max() / 4;

}  // namespace tutti

// The two names of an op: the placement log, the journal and the ledger have TensorFlow's, errors the function's.
#pragma once

namespace tutti {

// Both live for ever.
struct OpName {
  const char* row;       // TensorFlow's; empty: no op
  const char* function;  // what the program called

  OpName(const char* of_row, const char* called) noexcept : row(of_row), function(called) {}
  OpName(const char* both) noexcept : OpName(both, both) {}
};

}  // namespace tutti

// The attributes of cumulative ops, shared by the functions that fill them and the kernels that read them.
#pragma once

namespace tutti {

struct ScanAttributes {
  bool include_initial = false;  // every line begins with the sum of nothing
};

}  // namespace tutti

// The headers of .npy and IDX files: what the values behind them are. Bytes in, a header or an error out; there are no tensors
// here.
#pragma once

#include <cstdint>

#include "tutti/data/input_file.h"
#include "tutti/tensor/dtype.h"
#include "tutti/tensor/shape.h"

namespace tutti {

struct ArrayHeader {
  DType dtype = DType::f32;
  bool is_big_endian = false;
  bool is_column_major = false;
  Shape shape{};
  std::uint64_t end = 0;  // the byte of the first value
};

// Throw FileError, with the byte, for anything else.
ArrayHeader read_npy_header(InputFile& file);
ArrayHeader read_idx_header(InputFile& file);

}  // namespace tutti

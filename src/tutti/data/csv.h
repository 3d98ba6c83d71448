// Tables of numbers in text: CSV.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tutti/data/file_error.h"
#include "tutti/tensor/tensor.h"

namespace tutti {

struct CsvOptions {
  char delimiter = ',';
  bool header = true;                  // the first line has the columns' names
  DType dtype = DType::f32;            // f32, f64 or i64
  std::optional<double> missing = {};  // what an empty field means; nothing: it is refused
};

struct CsvTable {
  std::vector<std::string> columns;  // empty without a header
  Tensor values;                     // rows x columns, on the CPU
  // One column, by its name.
  [[nodiscard]] Tensor column(const std::string& name, Site site = {}) const;
};

// Fields may be quoted as RFC 4180 says; lines end in any usual way. Throws FileError, with line and column, for what is no
// number, and for lines of different lengths.
CsvTable load_csv(const std::string& path, const CsvOptions& options = {}, Site site = {});

}  // namespace tutti

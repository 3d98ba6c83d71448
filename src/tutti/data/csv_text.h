// The lines and fields of a CSV text. No tensors here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/base/site.h"

namespace tutti {

class CsvText {
 public:
  CsvText(std::string path, std::string_view content, char delimiter, Site site);

  // The fields of the next line that is not empty; false: the text has ended. Throws FileError for quotes without an end.
  bool next_line(std::vector<std::string>& fields);
  // At a column of that line, counted from 1, as a FileError.
  [[noreturn]] void refuse(std::size_t column, std::string_view why) const;

 private:
  bool take(char wanted);
  void end_line();
  std::string field(std::size_t column);
  std::string quoted(std::size_t column);

  std::string path_;
  std::string_view rest_;
  char delimiter_;
  Site site_;
  std::size_t line_ = 1;
  std::size_t next_line_ = 1;
};

}  // namespace tutti

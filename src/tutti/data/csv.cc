#include "tutti/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <string_view>

#include "tutti/base/text.h"
#include "tutti/data/csv_text.h"
#include "tutti/data/input_file.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/manipulation.h"
#include "tutti/ops/views.h"
#include "tutti/place/scope.h"

namespace tutti {

namespace {

template <class T>
T number(const CsvText& file, std::string_view field, std::size_t column, const std::optional<double>& missing) {
  if (field.empty()) {
    if (!missing) file.refuse(column, "the field is empty; say what that means with CsvOptions::missing");
    return static_cast<T>(*missing);
  }
  const bool has_plus = field.starts_with('+') && !field.starts_with("+-");
  const std::string_view digits = has_plus ? field.substr(1) : field;
  T out{};
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if constexpr (std::same_as<T, float>) {  // what is too small for a float is 0 or next to it
    double wide = 0;
    if (error == std::errc::result_out_of_range && std::from_chars(digits.data(), end, wide).ec == std::errc() &&
        std::abs(wide) < 1) {
      out = static_cast<float>(wide);
      error = std::errc();
    }
  }
  if (error == std::errc::result_out_of_range) file.refuse(column, text(in_quotes(field), " does not fit the dtype"));
  if (error != std::errc() || end != digits.data() + digits.size()) file.refuse(column, text(in_quotes(field), " is no number"));
  return out;
}

void check_is_integer(double missing, Site site) {
  constexpr double limit = 9223372036854775808.0;  // 2^63
  if (missing >= -limit && missing < limit && std::floor(missing) == missing) return;
  throw InvalidArgument(text("load_csv: a table of int64 has no ", missing, " for what is missing"), site);
}

template <class T>
Tensor read_rows(CsvText& file, std::size_t columns, const CsvOptions& options, Site site) {
  std::vector<T> values;
  std::vector<std::string> fields;
  std::int64_t rows = 0;
  for (; file.next_line(fields); ++rows) {
    if (columns == 0) columns = fields.size();
    if (fields.size() != columns)
      file.refuse(std::min(fields.size(), columns), text("the line has ", fields.size(), " fields, those before it ", columns));
    for (std::size_t i = 0; i < columns; ++i) values.push_back(number<T>(file, fields[i], i + 1, options.missing));
  }
  const DeviceScope here("CPU:0", site);
  return constant(values, {rows, static_cast<std::int64_t>(columns)}, site);
}

}  // namespace

CsvTable load_csv(const std::string& path, const CsvOptions& options, Site site) {
  InputFile input(path, site);
  const std::string content = input.text_at(0, input.size());
  CsvText file(path, content, options.delimiter, site);
  CsvTable out;
  if (options.dtype == DType::i64 && options.missing) check_is_integer(*options.missing, site);
  if (options.header && !file.next_line(out.columns)) file.refuse(1, "the file is empty; its first line should name the columns");
  switch (options.dtype) {
    case DType::f32: out.values = read_rows<float>(file, out.columns.size(), options, site); break;
    case DType::f64: out.values = read_rows<double>(file, out.columns.size(), options, site); break;
    case DType::i64: out.values = read_rows<std::int64_t>(file, out.columns.size(), options, site); break;
    default: throw InvalidArgument(text("load_csv: a table of ", to_string(options.dtype), "; it reads f32, f64 or i64"), site);
  }
  return out;
}

Tensor CsvTable::column(const std::string& name, Site site) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found == columns.end()) {
    std::string there;
    for (const std::string& each : columns) there += text(there.empty() ? "" : ", ", in_quotes(each));
    throw InvalidArgument(text("the table has no column ", in_quotes(name), "; there are ", there.empty() ? "none" : there),
                          site);
  }
  const DeviceScope here("CPU:0", site);
  return squeeze(slice(values, 1, {found - columns.begin(), found - columns.begin() + 1}, site), 1, site);
}

}  // namespace tutti

#include "tutti/data/array_files.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "tutti/base/text.h"
#include "tutti/data/array_header.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/views.h"
#include "tutti/place/scope.h"

namespace tutti {

namespace {

void reverse_each(std::vector<std::byte>& bytes, std::size_t size) {
  for (std::size_t at = 0; at + size <= bytes.size(); at += size)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + size));
}

Tensor values_behind(InputFile& file, const ArrayHeader& header, Site site) {
  const std::optional<std::int64_t> count = element_count(header.shape);
  const std::size_t size = size_of(header.dtype);
  if (!count || static_cast<std::uint64_t>(*count) > std::numeric_limits<std::uint64_t>::max() / size)
    file.refuse(0, text("the header promises the shape ", to_string(header.shape), ", which no machine holds"));
  std::vector<std::byte> bytes = file.rest(header.end, static_cast<std::uint64_t>(*count) * size);
  if (header.is_big_endian) reverse_each(bytes, size);
  if (header.dtype == DType::boolean) {
    const auto strange = std::find_if(bytes.begin(), bytes.end(), [](std::byte each) { return each > std::byte{1}; });
    if (strange != bytes.end()) {
      file.refuse(header.end + static_cast<std::uint64_t>(strange - bytes.begin()),
                  text("a bool is ", std::to_integer<unsigned>(*strange), "; it must be 0 or 1"));
    }
  }
  const DeviceScope here("CPU:0", site);
  if (!header.is_column_major) return from_bytes(header.dtype, header.shape, bytes, site);
  Shape reversed = header.shape;
  for (std::size_t i = 0; i < reversed.size(); ++i) reversed[i] = header.shape[reversed.size() - 1 - i];
  return transpose(from_bytes(header.dtype, reversed, bytes, site), site);
}

}  // namespace

Tensor load_npy(const std::string& path, Site site) {
  InputFile file(path, site);
  return values_behind(file, read_npy_header(file), site);
}

Tensor load_idx(const std::string& path, Site site) {
  InputFile file(path, site);
  return values_behind(file, read_idx_header(file), site);
}

}  // namespace tutti

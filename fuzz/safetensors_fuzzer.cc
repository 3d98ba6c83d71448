// Any bytes are a file whose header is told, and written again means the same, or throw FileError with a short message.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tutti/data/file_error.h"
#include "tutti/train/safetensors_header.h"

namespace {

void require(bool promise) {
  if (!promise) __builtin_trap();
}

tutti::SafetensorsHeader read(std::string_view file, std::uint64_t size) {
  const std::uint64_t length = tutti::header_length(file.substr(0, tutti::length_bytes), size, "file", {});
  return tutti::parse_header(file.substr(tutti::length_bytes, length), size, "file", {});
}

void check(std::string_view file, std::uint64_t size) {
  using namespace tutti;
  try {
    SafetensorsHeader header = read(file, size);
    std::uint64_t bytes = 0;
    for (const auto& [name, tensor] : header.tensors) {
      require(tensor.begin <= tensor.end && tensor.end <= size);
      require(static_cast<std::uint64_t>(*element_count(tensor.shape)) * size_of(tensor.dtype) == tensor.end - tensor.begin);
      bytes += tensor.end - tensor.begin;
    }
    require(bytes <= size);
    const std::string begin = make_header(header, {});
    const SafetensorsHeader again = read(begin, begin.size() + bytes);
    require(again.metadata == header.metadata && again.tensors.size() == header.tensors.size());
    for (const auto& [name, tensor] : header.tensors) {
      const StoredTensor& other = again.tensors.at(name);
      require(other.dtype == tensor.dtype && other.shape == tensor.shape && other.begin == tensor.begin &&
              other.end == tensor.end);
    }
  } catch (const FileError& error) {
    require(std::strlen(error.what()) < 2000);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(text, size);
  // As the header of a file that is as long as it likes: what is behind it is not read here.
  std::string file(tutti::length_bytes, '\0');
  for (std::size_t i = 0; i < tutti::length_bytes; ++i) file[i] = static_cast<char>(size >> (8 * i) & 0xFFU);
  file += text;
  check(file, file.size());
  check(file, file.size() + 12);
  return 0;
}

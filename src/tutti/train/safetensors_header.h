// The header of a safetensors file: the names of its tensors, what they are and where their bytes lie. Bytes in, a table or an
// error out; there are no tensors here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tutti/base/site.h"
#include "tutti/tensor/dtype.h"
#include "tutti/tensor/shape.h"

namespace tutti {

struct StoredTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0;  // its bytes, counted from the end of the header
  std::uint64_t end = 0;
  std::uint64_t named_at = 0;  // the byte of the file behind its name
};

struct SafetensorsHeader {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// A file is eight bytes, which say how long the header is, the header, and the tensors without gaps between them.
inline constexpr std::uint64_t length_bytes = 8;
inline constexpr std::uint64_t longest_header = 100'000'000;  // as the format says

// How long the header is, by the first bytes of a file. Throws FileError where so much is not there, or too much.
std::uint64_t header_length(std::string_view first, std::uint64_t file_size, const std::string& path, Site site);
// Throws FileError, with the byte, for anything but JSON of the format's form whose tensors fill the rest of the file exactly.
SafetensorsHeader parse_header(std::string_view json, std::uint64_t file_size, const std::string& path, Site site);

// Of a file. Throws FileError.
SafetensorsHeader load_header(const std::string& path, Site site);

// Gives each tensor its place, those with the largest elements first so that all are aligned, and returns what the file begins
// with. Throws InvalidArgument for names and texts that JSON cannot hold.
std::string make_header(SafetensorsHeader& header, Site site);

}  // namespace tutti

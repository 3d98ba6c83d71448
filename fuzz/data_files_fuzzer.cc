// Any bytes are a .npy, IDX or CSV file that is read to its end, or throw FileError with a short message.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/data/array_header.h"
#include "tutti/data/csv_text.h"
#include "tutti/data/file_error.h"

namespace {

void require(bool promise) {
  if (!promise) __builtin_trap();
}

template <class Read>
void attempt(Read read) {
  try {
    read();
  } catch (const tutti::FileError& error) {
    require(error.message().size() < 1000);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int memory = ::memfd_create("fuzzed", 0);
  require(memory >= 0 && ::write(memory, data, size) == static_cast<ssize_t>(size));
  const std::string path = "/proc/self/fd/" + std::to_string(memory);
  for (tutti::ArrayHeader (*header)(tutti::InputFile&) : {tutti::read_npy_header, tutti::read_idx_header}) {
    attempt([&] {
      tutti::InputFile file(path, {});
      require(header(file).end <= file.size());
    });
  }
  attempt([&] {
    tutti::CsvText text("file", {reinterpret_cast<const char*>(data), size}, ',', {});
    std::vector<std::string> fields;
    for (std::size_t lines = 0; text.next_line(fields); ++lines) require(lines <= size && !fields.empty());
  });
  ::close(memory);
  return 0;
}

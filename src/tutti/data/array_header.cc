#include "tutti/data/array_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "tutti/base/text.h"

namespace tutti {

namespace {

// The header of a .npy file is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class NpyHeader {
 public:
  NpyHeader(const InputFile& file, std::string_view written, std::uint64_t begins) noexcept
      : file_(file), written_(written), begins_(begins) {}

  ArrayHeader parse() {
    ArrayHeader out;
    out.end = begins_ + written_.size();
    std::array<bool, 3> seen{};
    expect('{');
    while (!take('}')) {
      const std::size_t key_at = at_;
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        seen[0] = true;
        read_dtype(out);
      } else if (key == "fortran_order") {
        seen[1] = true;
        out.is_column_major = truth();
      } else if (key == "shape") {
        seen[2] = true;
        out.shape = sizes();
      } else {
        stop(key_at, text("the header has ", in_quotes(key), ", which the format does not know"));
      }
      if (take('}')) break;
      expect(',');
    }
    if (!(seen[0] && seen[1] && seen[2])) stop(at_, "the header must have 'descr', 'fortran_order' and 'shape'");
    skip_blanks();
    if (at_ != written_.size()) stop(at_, "something stands behind the header's dictionary");
    return out;
  }

 private:
  [[noreturn]] void stop(std::size_t at, std::string_view why) const { file_.refuse(begins_ + at, why); }

  void skip_blanks() {
    while (at_ < written_.size() && (written_[at_] == ' ' || written_[at_] == '\n')) ++at_;
  }
  bool take(char wanted) {
    skip_blanks();
    if (at_ == written_.size() || written_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!take(wanted)) stop(at_, text("'", wanted, "' was expected in the header"));
  }
  std::string_view quoted() {
    skip_blanks();
    const char quote = at_ < written_.size() ? written_[at_] : ' ';
    if (quote != '\'' && quote != '"') stop(at_, "a quoted word was expected in the header");
    const std::size_t end = written_.find(quote, at_ + 1);
    if (end == std::string_view::npos) stop(at_, "the quoted word in the header has no end");
    const std::string_view out = written_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return out;
  }
  bool truth() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, std::pair{std::string_view("False"), false}}) {
      if (!written_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return value;
    }
    stop(at_, "True or False was expected in the header");
  }
  Shape sizes() {
    Shape out;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      std::int64_t size = 0;
      const char* const begin = written_.data() + at_;
      const auto [end, error] = std::from_chars(begin, written_.data() + written_.size(), size);
      if (error != std::errc() || size < 0) stop(at_, "a size was expected in the header");
      if (out.size() == most_axes) stop(at_, text("there are more than ", most_axes, " axes"));
      at_ += static_cast<std::size_t>(end - begin);
      out.push_back(size);
      if (take(')')) break;
      expect(',');
    }
    return out;
  }
  void read_dtype(ArrayHeader& out) {
    static constexpr std::pair<std::string_view, DType> dtypes[] = {
        {"b1", DType::boolean}, {"u1", DType::u8},  {"i1", DType::i8},  {"i2", DType::i16}, {"i4", DType::i32},
        {"i8", DType::i64},     {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64}};
    skip_blanks();
    const std::size_t at = at_;
    if (at_ < written_.size() && written_[at_] == '[') stop(at, "a table of several dtypes; save its columns one by one");
    const std::string_view name = quoted();
    const bool has_order = !name.empty() && std::string_view("<>=|").find(name[0]) != std::string_view::npos;
    const auto* const found = std::find_if(std::begin(dtypes), std::end(dtypes),
                                           [&](const auto& each) { return has_order && each.first == name.substr(1); });
    if (found == std::end(dtypes)) stop(at, text("there is no dtype here for NumPy's ", in_quotes(name)));
    out.dtype = found->second;
    out.is_big_endian = name[0] == '>';
  }

  const InputFile& file_;
  std::string_view written_;
  std::uint64_t begins_;
  std::size_t at_ = 0;
};

constexpr std::string_view npy_magic("\x93NUMPY", 6);

}  // namespace

ArrayHeader read_npy_header(InputFile& file) {
  const std::string first = file.text_at(0, npy_magic.size() + 2);
  if (!first.starts_with(npy_magic)) file.refuse(0, "a .npy file begins with \"\\x93NUMPY\"; this is another kind of file");
  const auto version = static_cast<unsigned char>(first[npy_magic.size()]);
  if (version < 1 || version > 3)
    file.refuse(npy_magic.size(), text("version ", unsigned{version}, " of the format; 1 to 3 are known"));
  const std::size_t length_size = version == 1 ? 2 : 4;
  const std::string length_bytes = file.text_at(first.size(), length_size);
  std::uint64_t length = 0;
  for (std::size_t i = length_size; i-- > 0;) length = length << 8U | static_cast<unsigned char>(length_bytes[i]);
  const std::uint64_t begins = first.size() + length_size;
  if (length > file.size() - begins)
    file.refuse(first.size(), text("a header of ", length, " bytes, and the file ends after ", file.size() - begins));
  const std::string written = file.text_at(begins, length);
  return NpyHeader(file, written, begins).parse();
}

ArrayHeader read_idx_header(InputFile& file) {
  static constexpr std::pair<unsigned char, DType> dtypes[] = {{0x08, DType::u8},  {0x09, DType::i8},  {0x0B, DType::i16},
                                                               {0x0C, DType::i32}, {0x0D, DType::f32}, {0x0E, DType::f64}};
  std::array<unsigned char, 4> magic{};
  file.read(0, magic.data(), magic.size());
  if (magic[0] == 0x1F && magic[1] == 0x8B) file.refuse(0, "the file is compressed with gzip; unpack it first");
  if (magic[0] != 0 || magic[1] != 0) file.refuse(0, "an IDX file begins with two zeros; this is another kind of file");
  const auto* const found =
      std::find_if(std::begin(dtypes), std::end(dtypes), [&](const auto& each) { return each.first == magic[2]; });
  if (found == std::end(dtypes)) file.refuse(2, text("the format knows no dtype ", unsigned{magic[2]}));
  if (magic[3] > most_axes) file.refuse(3, text("there are ", unsigned{magic[3]}, " axes; at most ", most_axes, " fit"));
  ArrayHeader header;
  header.dtype = found->second;
  header.is_big_endian = true;
  header.end = magic.size();
  for (unsigned i = 0; i < magic[3]; ++i) {
    std::array<unsigned char, 4> size{};
    file.read(header.end, size.data(), size.size());
    header.end += size.size();
    header.shape.push_back(std::int64_t{size[0]} << 24U | std::int64_t{size[1]} << 16U | std::int64_t{size[2]} << 8U | size[3]);
  }
  return header;
}

}  // namespace tutti

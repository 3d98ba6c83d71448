#include "tutti/train/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "tutti/base/error.h"
#include "tutti/base/text.h"
#include "tutti/data/input_file.h"

namespace tutti {

namespace {

constexpr const char* metadata_name = "__metadata__";
constexpr std::size_t alignment = 8;

// In the order of DType.
constexpr std::array<std::string_view, dtype_count> format_names{"BOOL", "U8",  "I8",   "I16", "I32",
                                                                 "I64",  "F16", "BF16", "F32", "F64"};

// Tells how far the parser has come.
class WatchedBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  WatchedBytes(const char* at, std::uint64_t& passed) : at_(at), passed_(&passed) {}
  reference operator*() const { return *at_; }
  WatchedBytes& operator++() {
    ++at_;
    ++*passed_;
    return *this;
  }
  friend bool operator==(const WatchedBytes& a, const WatchedBytes& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  std::uint64_t* passed_;
};

// What JSON's parser calls. Nothing that the format does not have is let through.
class HeaderReader {
 public:
  using Json = nlohmann::json;

  HeaderReader(const std::string& path, Site site) : path_(path), site_(site) {}

  SafetensorsHeader read(std::string_view json) {
    const WatchedBytes end(json.data() + json.size(), passed_);
    Json::sax_parse(WatchedBytes(json.data(), passed_), end, this);
    return std::move(header_);
  }

  bool null() { refuse("null"); }
  bool boolean(bool /*value*/) { refuse("true or false"); }
  bool number_integer(Json::number_integer_t /*value*/) { refuse("a negative number"); }
  bool number_float(Json::number_float_t /*value*/, const std::string& written) {
    refuse(text("the number ", printable(written)));
  }
  bool binary(Json::binary_t& /*value*/) { refuse("binary data"); }

  bool number_unsigned(Json::number_unsigned_t value) {
    if (within_ == Within::offsets) {
      offsets_.push_back(value);
      return true;
    }
    if (within_ != Within::shape) refuse(text("the number ", value));
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      stop(text("an axis of ", in_quotes(name_), " has the size ", value, ", which nothing can hold"));
    if (current_.shape.size() == most_axes)
      stop(text(in_quotes(name_), " has more than ", most_axes, " axes, which tensors here cannot have"));
    current_.shape.push_back(static_cast<std::int64_t>(value), site_);
    return true;
  }

  bool string(std::string& value) {
    if (within_ == Within::metadata) {
      header_.metadata[field_] = std::move(value);
      return true;
    }
    if (within_ != Within::tensor || field_ != "dtype") refuse(text("the text ", in_quotes(value)));
    const auto* const found = std::find(format_names.begin(), format_names.end(), value);
    if (found == format_names.end())
      stop(text(in_quotes(name_), " has the dtype ", in_quotes(value), ", which is not known here"));
    current_.dtype = static_cast<DType>(found - format_names.begin());
    return true;
  }

  bool start_object(std::size_t /*elements*/) {
    switch (within_) {
      case Within::nothing: within_ = Within::header; return true;
      case Within::header:
        within_ = name_ == metadata_name ? Within::metadata : Within::tensor;
        fields_.clear();
        current_ = {.dtype = {}, .shape = {}, .named_at = at()};
        return true;
      default: refuse("an object");
    }
  }

  bool key(std::string& value) {
    if (within_ == Within::header) {
      if (value == metadata_name ? std::exchange(has_metadata_, true) : header_.tensors.contains(value))
        stop(text(in_quotes(value), " stands there a second time"));
      name_ = std::move(value);
      return true;
    }
    if (within_ == Within::tensor && value != "dtype" && value != "shape" && value != "data_offsets")
      stop(text(in_quotes(name_), " has ", in_quotes(value), "; a tensor has dtype, shape and data_offsets"));
    if (std::find(fields_.begin(), fields_.end(), value) != fields_.end() ||
        (within_ == Within::metadata && header_.metadata.contains(value)))
      stop(text(in_quotes(name_), " has ", in_quotes(value), " a second time"));
    if (within_ == Within::tensor) fields_.push_back(value);
    field_ = std::move(value);
    return true;
  }

  bool start_array(std::size_t /*elements*/) {
    if (within_ != Within::tensor || field_ == "dtype") refuse("a list");
    within_ = field_ == "shape" ? Within::shape : Within::offsets;
    offsets_.clear();
    return true;
  }

  bool end_array() {
    if (std::exchange(within_, Within::tensor) == Within::shape) return true;
    if (offsets_.size() != 2)
      stop(text("data_offsets of ", in_quotes(name_), " are ", offsets_.size(), " numbers; they must be two"));
    current_.begin = offsets_[0];
    current_.end = offsets_[1];
    return true;
  }

  bool end_object() {
    if (within_ == Within::header) {
      within_ = Within::nothing;
      return true;
    }
    if (std::exchange(within_, Within::header) == Within::tensor) finish_tensor();
    return true;
  }

  template <class Exception>
  bool parse_error(std::size_t position, const std::string& /*token*/, const Exception& error) {
    const std::string_view said = error.what();
    const std::size_t begin = said.find("syntax error");
    refuse_file(path_, length_bytes + (position > 0 ? position - 1 : 0),
                text("the header is no JSON: ", printable(begin == said.npos ? said : said.substr(begin), 300)), site_);
  }

 private:
  enum class Within : std::uint8_t { nothing, header, metadata, tensor, shape, offsets };

  [[nodiscard]] std::uint64_t at() const { return length_bytes + passed_; }
  [[noreturn]] void stop(std::string_view why) const { refuse_file(path_, at(), why, site_); }
  [[noreturn]] void refuse(std::string_view found) const {
    switch (within_) {
      case Within::nothing: stop(text("the header is ", found, "; it must be an object"));
      case Within::header: stop(text(in_quotes(name_), " is ", found, "; it must be an object"));
      case Within::metadata: stop(text(in_quotes(field_), " of the metadata is ", found, "; it must be a text"));
      case Within::tensor: stop(text(field_, " of ", in_quotes(name_), " is ", found));
      default: stop(text(field_, " of ", in_quotes(name_), " has ", found, " among its numbers"));
    }
  }

  void finish_tensor() {
    if (fields_.size() != 3) stop(text(in_quotes(name_), " lacks one of dtype, shape and data_offsets"));
    const std::optional<std::int64_t> count = element_count(current_.shape);
    const auto size = static_cast<std::int64_t>(size_of(current_.dtype));
    if (!count || *count > std::numeric_limits<std::int64_t>::max() / size)
      stop(text("the shape ", to_string(current_.shape), " of ", in_quotes(name_), " has more elements than anything can hold"));
    const auto bytes = static_cast<std::uint64_t>(*count * size);
    if (current_.end < current_.begin || current_.end - current_.begin != bytes) {
      stop(text("data_offsets of ", in_quotes(name_), " are ", current_.begin, " and ", current_.end, "; ",
                to_string(current_.dtype), " of shape ", to_string(current_.shape), " takes ", bytes, " bytes"));
    }
    header_.tensors.emplace(name_, current_);
  }

  const std::string& path_;
  Site site_;
  std::uint64_t passed_ = 0;
  Within within_ = Within::nothing;
  bool has_metadata_ = false;
  std::string name_;
  std::string field_;
  std::vector<std::string> fields_;  // of this tensor, so far
  std::vector<std::uint64_t> offsets_;
  StoredTensor current_;
  SafetensorsHeader header_;
};

// Every byte belongs to one tensor.
void check_places(const SafetensorsHeader& header, std::uint64_t data_size, const std::string& path, Site site) {
  std::vector<const std::pair<const std::string, StoredTensor>*> all;
  for (const auto& each : header.tensors) all.push_back(&each);
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) {
    return std::tie(a->second.begin, a->second.end) < std::tie(b->second.begin, b->second.end);
  });
  std::uint64_t reached = 0;
  for (const auto* each : all) {
    const StoredTensor& tensor = each->second;
    if (tensor.begin != reached) {
      refuse_file(path, tensor.named_at,
                  text(in_quotes(each->first), " begins at ", tensor.begin, " of the data; the one before it ends at ", reached,
                       tensor.begin < reached ? ": they overlap" : ": there is a gap"),
                  site);
    }
    if (tensor.end > data_size) {
      refuse_file(path, tensor.named_at,
                  text(in_quotes(each->first), " ends at ", tensor.end, " of the data, of which there are ", data_size,
                       " bytes: the file is cut off"),
                  site);
    }
    reached = tensor.end;
  }
  if (reached != data_size) {
    refuse_file(path, length_bytes,
                text("the tensors end at ", reached, " of the data, of which there are ", data_size, " bytes"), site);
  }
}

}  // namespace

std::uint64_t header_length(std::string_view first, std::uint64_t file_size, const std::string& path, Site site) {
  if (file_size < length_bytes || first.size() < length_bytes)
    refuse_file(path, file_size, text("the file ends here; a safetensors file has at least ", length_bytes, " bytes"), site);
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8U | static_cast<unsigned char>(first[i]);
  if (length > longest_header)
    refuse_file(path, 0,
                text("a header of ", length, " bytes; the format allows ", longest_header, ". Is this a safetensors file?"),
                site);
  if (length > file_size - length_bytes)
    refuse_file(path, 0, text("a header of ", length, " bytes, and the file ends after ", file_size - length_bytes), site);
  return length;
}

SafetensorsHeader parse_header(std::string_view json, std::uint64_t file_size, const std::string& path, Site site) {
  if (!json.starts_with('{'))
    refuse_file(path, length_bytes, text("the header begins with ", in_quotes(json.substr(0, 8)), "; it must be a JSON object"),
                site);
  SafetensorsHeader header = HeaderReader(path, site).read(json);
  check_places(header, file_size - length_bytes - json.size(), path, site);
  return header;
}

std::string make_header(SafetensorsHeader& header, Site site) {
  std::vector<std::pair<const std::string, StoredTensor>*> all;
  for (auto& each : header.tensors) all.push_back(&each);
  // By name where the sizes are equal, as the table has them.
  std::stable_sort(all.begin(), all.end(),
                   [](const auto* a, const auto* b) { return size_of(a->second.dtype) > size_of(b->second.dtype); });
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!header.metadata.empty()) json[metadata_name] = header.metadata;
  std::uint64_t reached = 0;
  for (auto* each : all) {
    StoredTensor& tensor = each->second;
    if (each->first == metadata_name)
      throw InvalidArgument(
          text("a tensor cannot be saved under the name ", metadata_name, ", which the format keeps for itself"), site);
    tensor.begin = reached;
    reached += static_cast<std::uint64_t>(element_count(tensor.shape).value()) * size_of(tensor.dtype);
    tensor.end = reached;
    json[each->first] = {{"dtype", format_names[static_cast<std::size_t>(tensor.dtype)]},
                         {"shape", std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end())},
                         {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string out(length_bytes, '\0');
  try {
    out += json.dump();
  } catch (const nlohmann::json::type_error& error) {
    throw InvalidArgument(
        text("a name or a text of the metadata is no UTF-8 and cannot be saved: ", printable(error.what(), 300)), site);
  }
  out.resize((out.size() + alignment - 1) / alignment * alignment, ' ');
  std::uint64_t length = out.size() - length_bytes;
  if (length > longest_header)
    throw InvalidArgument(
        text("the names and the metadata take ", length, " bytes; a safetensors file has room for ", longest_header), site);
  for (std::size_t i = 0; i < length_bytes; ++i, length >>= 8U) out[i] = static_cast<char>(length & 0xFFU);
  return out;
}

}  // namespace tutti

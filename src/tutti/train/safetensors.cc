#include "tutti/train/safetensors.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "tutti/base/text.h"
#include "tutti/base/whole_file.h"
#include "tutti/data/input_file.h"
#include "tutti/ops/creation.h"
#include "tutti/ops/reading.h"
#include "tutti/place/scope.h"
#include "tutti/train/safetensors_header.h"

namespace tutti {

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian, and elements are written as they lie");

std::string described(DType dtype, const Shape& shape) { return text(to_string(dtype), " ", to_string(shape)); }

// A file whose header is in order.
class SafetensorsFile {
 public:
  SafetensorsFile(const std::string& path, Site site) : site_(site), file_(path, site) {
    const std::uint64_t size = file_.size();
    const std::string json =
        file_.text_at(length_bytes, header_length(file_.text_at(0, std::min(size, length_bytes)), size, path, site));
    header_ = parse_header(json, size, path, site);
    data_at_ = length_bytes + json.size();
  }

  [[nodiscard]] const SafetensorsHeader& header() const noexcept { return header_; }

  [[nodiscard]] Tensor tensor(const std::string& name, const StoredTensor& stored) {
    bytes_.resize(stored.end - stored.begin);
    file_.read(data_at_ + stored.begin, bytes_.data(), bytes_.size());
    if (stored.dtype == DType::boolean) {
      const auto strange = std::find_if(bytes_.begin(), bytes_.end(), [](std::byte each) { return each > std::byte{1}; });
      if (strange != bytes_.end()) {
        file_.refuse(data_at_ + stored.begin + static_cast<std::uint64_t>(strange - bytes_.begin()),
                     text("a bool of ", in_quotes(name), " is ", std::to_integer<unsigned>(*strange), "; it must be 0 or 1"));
      }
    }
    return from_bytes(stored.dtype, stored.shape, bytes_, site_);
  }

 private:
  Site site_;
  InputFile file_;
  SafetensorsHeader header_;
  std::uint64_t data_at_ = 0;
  std::vector<std::byte> bytes_;
};

// All on the host, with one wait.
std::vector<Tensor> copied_to_host(const NamedTensors& tensors, Site site) {
  std::vector<Tensor> hosts;
  SyncRequest request{.reason = SyncReason::value_read, .site = site, .intent = Intent::store};
  for (const auto& [name, tensor] : tensors) {
    const SyncRequest each = detail::read_of(tensor, SyncReason::value_read, Intent::store, site);
    request.op = each.op;
    request.made = each.made;
    request.bytes += each.bytes;
    hosts.push_back(detail::start_to_host(tensor, site));
  }
  detail::finish_to_host(hosts, request);
  return hosts;
}

// Throws where the file's tensor cannot take the place of what is there.
void check_fits(const std::string& path, const std::string& name, const StoredTensor& stored, const detail::LoadTarget& target,
                Site site) {
  if (target.variable == nullptr && !target.tensor->is_defined()) return;
  const DType dtype = target.variable != nullptr ? target.variable->dtype(site) : target.tensor->dtype();
  const Shape& shape = target.variable != nullptr ? target.variable->shape(site) : target.tensor->shape();
  if (stored.dtype == dtype && stored.shape == shape) return;
  refuse_file(
      path, stored.named_at,
      text(in_quotes(name), " is ", described(stored.dtype, stored.shape), "; what is loaded is ", described(dtype, shape)),
      site);
}

}  // namespace

void save_tensors(const std::string& path, const NamedTensors& tensors, const FileMetadata& metadata, Site site) {
  if (tensors.empty()) throw InvalidArgument("there is nothing to save: no tensor and no variable was found", site);
  SafetensorsHeader header{.tensors = {}, .metadata = metadata};
  for (const auto& [name, tensor] : tensors) header.tensors[name] = {.dtype = tensor.dtype(site), .shape = tensor.shape()};
  const std::string begin = make_header(header, site);
  const std::vector<Tensor> hosts = copied_to_host(tensors, site);
  std::vector<std::pair<std::uint64_t, std::string_view>> pieces;
  std::size_t next = 0;
  for (const auto& [name, stored] : header.tensors) {
    const auto* const bytes = reinterpret_cast<const char*>(hosts[next++].impl().address());
    if (stored.end > stored.begin) pieces.emplace_back(stored.begin, std::string_view(bytes, stored.end - stored.begin));
  }
  std::sort(pieces.begin(), pieces.end());
  try {
    WholeFile file(path);
    file.write(begin);
    for (const auto& [at, piece] : pieces) file.write(piece);
    file.finish_on_disk();
  } catch (const std::system_error& error) {
    throw FileError(text(path, " cannot be written: ", error.code().message()), site);
  }
}

NamedTensors load_tensors(const std::string& path, Site site) {
  SafetensorsFile file(path, site);
  NamedTensors out;
  for (const auto& [name, stored] : file.header().tensors) out.emplace(name, file.tensor(name, stored));
  return out;
}

SafetensorsHeader load_header(const std::string& path, Site site) { return SafetensorsFile(path, site).header(); }
FileMetadata load_metadata(const std::string& path, Site site) { return SafetensorsFile(path, site).header().metadata; }

namespace detail {

template <class Named>
void add_named(Named& all, const std::string& name, typename Named::mapped_type value, Site site) {
  if (!all.emplace(name, std::move(value)).second)
    throw InvalidArgument(text("two tensors would have the name ", in_quotes(name), " in the file"), site);
}
template void add_named(NamedTensors&, const std::string&, Tensor, Site);
template void add_named(std::map<std::string, LoadTarget>&, const std::string&, LoadTarget, Site);

void load_into(const std::string& path, const std::map<std::string, LoadTarget>& targets, Site site) {
  SafetensorsFile file(path, site);
  const auto& stored = file.header().tensors;
  for (const auto& [name, tensor] : stored) {
    const auto target = targets.find(name);
    if (target == targets.end())
      refuse_file(path, tensor.named_at, text("the file has ", in_quotes(name), ", which is not among what is loaded"), site);
    check_fits(path, name, tensor, target->second, site);
  }
  std::vector<std::pair<const LoadTarget*, Tensor>> values;
  for (const auto& [name, target] : targets) {
    const auto found = stored.find(name);
    if (found == stored.end()) {
      if (target.tensor != nullptr && !target.tensor->is_defined()) continue;
      refuse_file(path, length_bytes,
                  text("the header has no ", in_quotes(name), "; there are ", stored.size(), " tensors in the file"), site);
    }
    std::optional<DeviceScope> there;
    if (target.variable != nullptr) {
      there.emplace(target.variable->device(site), site);
    } else if (target.tensor->is_defined()) {
      there.emplace(target.tensor->device(), site);
    }
    values.emplace_back(&target, file.tensor(name, found->second));
  }
  for (auto& [target, value] : values) {
    if (target->variable != nullptr) {
      target->variable->assign(value, site);
    } else {
      *target->tensor = std::move(value);
    }
  }
}

}  // namespace detail

}  // namespace tutti

// Tensors by name in a file: the safetensors format, which the Python package of that name reads and writes too.
#pragma once

#include <map>
#include <string>

#include "tutti/data/file_error.h"
#include "tutti/ops/flatten.h"

namespace tutti {

using NamedTensors = std::map<std::string, Tensor>;
using FileMetadata = std::map<std::string, std::string>;  // texts that a file carries beside its tensors

// The file is there as a whole, on the disk, or what was there before still is: also after a crash. The values are copied to the
// host together and waited for once. Throws FileError where the file cannot be written.
void save_tensors(const std::string& path, const NamedTensors& tensors, const FileMetadata& metadata = {}, Site site = {});
// On the device of the scope around the call, as constant(). Throws FileError with the byte where the file is damaged or another.
NamedTensors load_tensors(const std::string& path, Site site = {});
FileMetadata load_metadata(const std::string& path, Site site = {});

namespace detail {
// Where a loaded tensor goes: one of these.
struct LoadTarget {
  Tensor* tensor = nullptr;
  const Variable* variable = nullptr;
};
template <class Named>
void add_named(Named& all, const std::string& name, typename Named::mapped_type value, Site site);
extern template void add_named(NamedTensors&, const std::string&, Tensor, Site);
extern template void add_named(std::map<std::string, LoadTarget>&, const std::string&, LoadTarget, Site);
void load_into(const std::string& path, const std::map<std::string, LoadTarget>& targets, Site site);
}  // namespace detail

// Every tensor and variable in a value (flatten.h) under the way there: "layers.0.weight". Undefined tensors are left out.
template <class T>
void save(const std::string& path, const T& value, const FileMetadata& metadata = {}, Site site = {}) {
  NamedTensors all;
  each_leaf(std::string(), value, [&](const std::string& name, const auto& leaf) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Variable>) {
      detail::add_named(all, name, leaf.value(site), site);
    } else if (leaf.is_defined()) {
      detail::add_named(all, name, leaf, site);
    }
  });
  save_tensors(path, all, metadata, site);
}

// Assigns the variables in a value and replaces its tensors, each where it is. The file must have all of them, with the same
// dtypes and shapes, and no others; an undefined tensor takes what the file has for it, if anything. All of that is looked at,
// and the values are read, before the first one changes: FileError, and nothing has changed. Waits for no device.
template <class T>
void load(const std::string& path, T& value, Site site = {}) {
  std::map<std::string, detail::LoadTarget> targets;
  each_leaf(std::string(), value, [&](const std::string& name, auto& leaf) {
    if constexpr (std::same_as<std::remove_cvref_t<decltype(leaf)>, Variable>) {
      detail::add_named(targets, name, {.variable = &leaf}, site);
    } else {
      detail::add_named(targets, name, {.tensor = &leaf}, site);
    }
  });
  detail::load_into(path, targets, site);
}

}  // namespace tutti

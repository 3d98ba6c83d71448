// Loaders and data sets of PyTorch: where their batches are, and whether these could be pinned.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "tutti/lint/analyser.h"

namespace tutti::lint {

Value Analyser::make_loader(NodeId call, const Arguments& arguments) {
  const auto [found, is_new] = loader_at_.try_emplace(call, static_cast<std::uint32_t>(loaders_.size()));
  if (is_new) {
    Loader& loader = loaders_.emplace_back();
    loader.call = call;
    const Argument* const pinned = arguments.find(7, "pin_memory");
    const bool is_collated = arguments.positions > 6 || arguments.named("collate_fn") != nullptr;  // into what, and where?
    if (pinned == nullptr && !is_collated) loader.fix = with_argument(call, arguments, "pin_memory=True");
    const Argument* const size = arguments.find(1, "batch_size");
    loader.makes_batches = arguments.positions <= 6 && !arguments.has_splat && arguments.named("collate_fn") == nullptr &&
                           (size == nullptr || tree_[size->node].kind != Syntax::none);
    loader.is_pinned = arguments.has_splat                                               ? Known::unknown
                       : pinned == nullptr || tree_[pinned->node].kind == Syntax::false_ ? Known::no
                       : tree_[pinned->node].kind == Syntax::true_                       ? Known::yes
                                                                                         : Known::unknown;
  }
  const Argument* const data = arguments.find(0, "dataset");
  const Argument* const collated = arguments.find(6, "collate_fn");
  Value items = data == nullptr ? Value{} : data->value;
  if (collated != nullptr && tree_[collated->node].kind != Syntax::none)
    items = collated->value.kind == Kind::function ? functions_[collated->value.index].returned : Value{};
  Loader& loader = loaders_[found->second];
  loader.is_on_gpu = loader.is_on_gpu || has_items_on_gpu(items);
  return {.kind = Kind::loader, .place = loader.is_on_gpu ? Place::cuda : Place::unknown, .loader = found->second + 1};
}

// Whether the file makes what a data set gives on a GPU, where it cannot be pinned.
bool Analyser::has_items_on_gpu(const Value& data) const {
  int most = 500;  // values looked at
  return has_items_on_gpu(data, most);
}

bool Analyser::has_items_on_gpu(const Value& data, int& most) const {
  if (--most < 0) return false;
  const auto is_there = [&](const Value& each) { return has_items_on_gpu(each, most); };
  if (data.kind == Kind::container) return std::ranges::any_of(containers_[data.index].items, is_there);
  if (data.kind == Kind::instance) {
    for (const std::string_view gives : {"__getitem__", "__iter__", "__getitems__"}) {
      const std::uint32_t method = method_of(data.index, gives);
      if (method == 0) continue;
      const Function& function = functions_[method - 1];
      if (is_there(function.is_generator ? function.yielded : function.returned)) return true;
    }
    const auto holds = [&](std::uint32_t type) {
      return std::ranges::any_of(types_[type].attributes, [&](const auto& attribute) {
        return attribute.second.kind != Kind::instance && is_there(attribute.second);
      });
    };
    return holds(data.index) || std::ranges::any_of(types_[data.index].bases, holds);
  }
  return (data.kind == Kind::tensor || data.kind == Kind::dataset) && data.place == Place::cuda;
}

// TensorDataset, and what is made of other data sets.
Value Analyser::make_dataset(std::string_view name, const Arguments& arguments) {
  Value out{.kind = Kind::dataset};
  const Value over = combined(arguments);
  if (over.kind == Kind::tensor) out.place = over.place, out.sure = over.sure;
  const auto is_there = [&](const Argument& each) { return has_items_on_gpu(each.value); };
  if (std::ranges::any_of(arguments.all, is_there) || std::ranges::any_of(arguments.spread, is_there)) out.place = Place::cuda;
  return name == "random_split" ? make_container({out}, false) : out;
}

}  // namespace tutti::lint

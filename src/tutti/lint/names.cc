#include "tutti/lint/names.h"

#include <algorithm>
#include <initializer_list>

namespace tutti::lint {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), name) != words.end();
}

namespace {

bool ends_with(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return name.ends_with(word); });
}

bool has_one_of(std::string_view name, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

}  // namespace

bool sounds_like_device(std::string_view name) {
  return is_one_of(name, {"device", "DEVICE", "dev", "local_rank", "torch_device"}) || ends_with(name, {"_device", "_DEVICE"});
}

bool sounds_like_rank(std::string_view name) {
  return is_one_of(name, {"rank", "gpu", "gpu_id", "device_id"}) || ends_with(name, {"_rank", "_gpu"});
}

bool sounds_like_module(std::string_view name) {
  return is_one_of(name, {"model", "net", "network", "criterion", "loss_fn", "loss_func", "encoder", "decoder", "backbone",
                          "classifier", "unet", "vae"}) ||
         ends_with(name, {"_model", "_net", "_criterion", "_loss_fn", "_encoder", "_decoder"});
}

bool sounds_like_loader(std::string_view name) { return has_one_of(name, {"loader", "Loader"}); }

bool sounds_like_data(std::string_view name) {
  return is_one_of(name, {"x",     "y",      "input",     "inputs",         "target", "targets", "label",  "labels",
                          "image", "images", "img",       "imgs",           "batch",  "data",    "sample", "samples",
                          "video", "tokens", "input_ids", "attention_mask", "mask",   "logits",  "loss",   "features"});
}

bool sounds_like_mask(std::string_view name) { return name == "mask" || name == "masks" || ends_with(name, {"_mask", "_masks"}); }

bool sounds_like_host(std::string_view name) {
  return name.size() <= 1 ? name != "x" && name != "y" && name != "z" && name != "q" && name != "k" && name != "v"
                          : has_one_of(name, {"size",   "shape",  "num",      "len",     "dim",     "count",  "mode",     "flag",
                                              "height", "width",  "epoch",    "config",  "cfg",     "kwargs", "name",     "type",
                                              "kernel", "stride", "padding",  "return_", "output_", "use_",   "is_",      "has_",
                                              "path",   "prefix", "training", "seed",    "dtype",   "step",   "index",    "idx",
                                              "ratio",  "eps",    "level",    "args",    "cache",   "past_",  "generator"}) ||
                                is_one_of(name, {"cls", "fn", "func", "callback", "hw", "HW", "scale_factor", "strict"}) ||
                                (name[0] >= 'A' && name[0] <= 'Z');
}

bool sounds_like_step(std::string_view name) {
  return is_one_of(name, {"forward", "training_step", "train_step", "validation_step", "step", "compute_loss", "backward",
                          "train_one_step", "update"});
}

bool sounds_like_log(std::string_view name) { return has_one_of(name, {"log", "LOG"}); }

bool is_writer(std::string_view method) {
  return is_one_of(method,
                   {"add_scalar", "add_scalars", "add_histogram", "set_postfix", "log_metric", "log_metrics", "log_scalar"});
}

bool is_logger(std::string_view receiver, std::string_view method) {
  return is_one_of(method, {"info", "warning", "error", "critical", "exception", "debug"}) && sounds_like_log(receiver);
}

bool is_static_fact(std::string_view function) {
  return is_one_of(function, {"shape", "ndim", "size", "dtype", "finfo", "iinfo", "result_type", "promote_types", "can_cast",
                              "issubdtype", "isscalar", "iscomplexobj", "isrealobj", "broadcast_shapes"});
}

}  // namespace tutti::lint

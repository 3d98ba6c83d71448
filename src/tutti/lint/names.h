// What a name alone says about a value, where nothing else does.
#pragma once

#include <initializer_list>
#include <string_view>

namespace tutti::lint {

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> words);

bool sounds_like_device(std::string_view name);  // device, local_rank
bool sounds_like_rank(std::string_view name);    // rank, gpu: a device where one is wanted
bool sounds_like_module(std::string_view name);  // model, criterion, loss_fn
bool sounds_like_loader(std::string_view name);  // train_loader
bool sounds_like_data(std::string_view name);    // inputs, labels, x
bool sounds_like_mask(std::string_view name);
bool sounds_like_host(std::string_view name);  // num_heads, height, return_dict: options of forward
bool sounds_like_step(std::string_view name);  // training_step, forward
bool sounds_like_log(std::string_view name);   // logger

bool is_writer(std::string_view method);                             // add_scalar, set_postfix
bool is_logger(std::string_view receiver, std::string_view method);  // logger.info
bool is_static_fact(std::string_view function);                      // jnp.size, np.result_type: asks for no numbers

}  // namespace tutti::lint

// Whether a program run again gives the same bits.
#pragma once

namespace tutti {

// Whether results must be the same bits on every run on the same kind of GPU. They are, unless this says false: then convolutions
// and attention on GPUs may add in an order that depends on timing where that is faster, which changes last bits. True, unless
// the environment says TUTTI_DETERMINISTIC=0. Holds for the whole process, from the next call on.
void set_deterministic(bool deterministic) noexcept;
[[nodiscard]] bool is_deterministic() noexcept;

}  // namespace tutti

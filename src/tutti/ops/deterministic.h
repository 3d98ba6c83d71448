// Whether a program run again gives the same bits.
#pragma once

namespace tutti {

// Whether ops give the same bits whenever they are called on the same kind of GPU. They do, unless this says false: then
// convolutions and attention on GPUs may add in an order that depends on timing where that is faster, which changes last bits.
// True, unless the environment says TUTTI_DETERMINISTIC=0. Holds for the whole process, from the next call on. (Products in
// captured functions are another matter: the clock chooses their algorithm once, which is kept on disk.)
void set_deterministic(bool deterministic) noexcept;
[[nodiscard]] bool is_deterministic() noexcept;

}  // namespace tutti

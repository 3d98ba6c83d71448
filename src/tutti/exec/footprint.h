// Which bytes of its buffer an operand is.
#pragma once

#include "tutti/exec/kernel.h"
#include "tutti/hal/access_observer.h"
#include "tutti/memory/buffer.h"

namespace tutti {

// Exact for what is dense and for what lies in equal runs at equal distances, as a range of columns does.
MemoryUse footprint(const Operand& operand, const Buffer& buffer, bool is_write);

}  // namespace tutti

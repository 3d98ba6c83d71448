// Immediate execution: places an op call, brings its inputs there, and runs it in the caller or hands it to a stream.
#pragma once

#include "tutti/exec/op_call.h"

namespace tutti {

// Fills call.outputs. Mistakes throw here; a failure of the kernel travels with the outputs.
void execute(OpCall& call);

}  // namespace tutti

// The devices a demonstration runs on.
#pragma once

namespace tutti::tools {

// Simulates so many GPUs where there is none; lists what there is, and says whether it is real. Before anything else uses a
// device.
void show_devices(unsigned simulated);

}  // namespace tutti::tools

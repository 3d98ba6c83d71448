// `tutti devices`: what the machine has, and what a program would see of it.
#pragma once

namespace tutti::tools {

void print_devices(bool as_json);
// The physical devices alone, a line each: "GPU:0  Simulated GPU   sim  4.00 GiB". Touches no device.
void print_physical_devices();

}  // namespace tutti::tools

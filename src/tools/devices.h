// `tutti devices`: what the machine has, and what a program would see of it.
#pragma once

#include <string>

namespace tutti::tools {

void print_devices(bool as_json);
// The physical devices alone, a line each: "GPU:0  NVIDIA H200   cuda 9.0  140 GiB", and the driver below. Touches no device.
void print_physical_devices();
// ": there is no NVIDIA driver (libcuda.so.1)"; empty where nothing is to be said.
std::string why_no_gpu();

}  // namespace tutti::tools

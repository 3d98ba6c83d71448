// Lets every example run everywhere: a machine without a GPU gets four simulated ones.
#pragma once

#include <tutti/tutti.h>

#include <iostream>

// To be called before anything else uses a device.
inline void simulate_gpus_where_there_is_none() {
  if (!tutti::list_physical_devices("GPU").empty()) return;
  tutti::simulate_gpus(4);
  std::cerr << "There is no GPU here; four are simulated.\n";
}

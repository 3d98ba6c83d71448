// Use a GPU, "Setup": how many GPUs are there? Asking touches none of them.
#include "../gpus.h"

int main() {
  simulate_gpus_where_there_is_none();
  std::cout << "Num GPUs Available:  " << tutti::list_physical_devices("GPU").size() << '\n';
}

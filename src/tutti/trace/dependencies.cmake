# Baselines are JSON; the header-only library stays inside the source that reads them.
find_path(TUTTI_JSON nlohmann/json.hpp REQUIRED)
target_include_directories(tutti_trace SYSTEM PRIVATE ${TUTTI_JSON})

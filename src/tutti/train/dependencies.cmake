# What training needs from outside: JSON, for the headers of files.
find_path(TUTTI_JSON nlohmann/json.hpp REQUIRED DOC "Where nlohmann's JSON header is; Debian: nlohmann-json3-dev")
target_include_directories(tutti_train SYSTEM PRIVATE ${TUTTI_JSON})

# What the ops need from outside: the header that says what a DLPack tensor is.
find_path(TUTTI_DLPACK dlpack/dlpack.h REQUIRED DOC "Where DLPack's header is; Debian: libdlpack-dev")
target_include_directories(tutti_ops SYSTEM PRIVATE ${TUTTI_DLPACK})

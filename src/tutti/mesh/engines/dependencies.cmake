# What the engines need from outside; included from src/tutti/CMakeLists.txt after the tutti library is declared.

# The word that decides a meeting is 128 bits wide; every x86-64 processor since 2006 compares and swaps that.
target_compile_options(tutti_mesh_engines PRIVATE -mcx16)

# What the wire needs from outside; included from src/tutti/CMakeLists.txt after the tutti library is declared.

# OpenSSL: TLS 1.3 with keys that both ends share, and AES-GCM. By their files: who uses an installed tutti need not look for them.
find_package(OpenSSL 3.0 REQUIRED)
target_include_directories(tutti_mesh_wire SYSTEM PRIVATE ${OPENSSL_INCLUDE_DIR})
target_link_libraries(tutti PRIVATE ${OPENSSL_SSL_LIBRARY} ${OPENSSL_CRYPTO_LIBRARY})

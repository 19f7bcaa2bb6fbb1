# LibTorch as a hand-made interface target: find_package(Torch) on a CUDA wheel demands a full CUDA toolkit.
# Looked for in: TITAN_TORCH_DIR (cache or environment), an importable torch of python3, .deps/venv.
set(TITAN_TORCH_VERSION 2.11.0)
set(TITAN_TORCH_DIR "$ENV{TITAN_TORCH_DIR}" CACHE PATH "Folder of the torch package (holds include/ and lib/)")
if(NOT TITAN_TORCH_DIR)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/find-torch OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(TITAN_TORCH_DIR "${found}" CACHE PATH "Folder of the torch package (holds include/ and lib/)" FORCE)
endif()
if(NOT EXISTS ${TITAN_TORCH_DIR}/include/ATen/ATen.h)
  message(FATAL_ERROR "LibTorch ${TITAN_TORCH_VERSION} not found (looked at TITAN_TORCH_DIR='${TITAN_TORCH_DIR}', python3's torch and .deps/); run scripts/bootstrap")
endif()
message(STATUS "LibTorch: ${TITAN_TORCH_DIR}")

# The wheel lacks Gloo's headers; the code itself is inside libtorch_cpu.so.
titan_need_header(TITAN_GLOO_INCLUDE gloo/context.h libgloo-dev)

add_library(titan_torch INTERFACE)
target_include_directories(titan_torch SYSTEM INTERFACE ${TITAN_TORCH_DIR}/include ${TITAN_TORCH_DIR}/include/torch/csrc/api/include)
target_compile_definitions(titan_torch INTERFACE USE_DISTRIBUTED USE_RPC USE_TENSORPIPE USE_C10D_GLOO)
target_link_options(titan_torch INTERFACE -Wl,--allow-shlib-undefined)
# Whole paths: CMake then keeps the run paths of built and installed programs.
target_link_libraries(titan_torch INTERFACE ${TITAN_TORCH_DIR}/lib/libtorch_cpu.so ${TITAN_TORCH_DIR}/lib/libc10.so)

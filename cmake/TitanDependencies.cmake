# Third-party libraries of ckpt and cli as imported targets named titan::<library>.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(titan_need_header var header package)
  find_path(${var} ${header} PATH_SUFFIXES ${ARGN})
  if(NOT ${var})
    message(FATAL_ERROR "${header} not found; install it with: apt-get install ${package} (or run scripts/bootstrap)")
  endif()
endfunction()

# HDF5 is linked statically: the distribution's shared library pulls about 30 others into the process.
titan_need_header(TITAN_HDF5_INCLUDE hdf5.h libhdf5-dev hdf5/serial)
find_library(TITAN_HDF5_LIB NAMES libhdf5.a PATH_SUFFIXES hdf5/serial hdf5/serial/lib)
find_library(TITAN_AEC_LIB NAMES libaec.a)
find_library(TITAN_SZ_LIB NAMES libsz.a)
find_package(ZLIB REQUIRED)
if(NOT TITAN_HDF5_LIB OR NOT TITAN_AEC_LIB OR NOT TITAN_SZ_LIB)
  message(FATAL_ERROR "static HDF5 not found; install it with: apt-get install libhdf5-dev libaec-dev (or run scripts/bootstrap)")
endif()
add_library(titan_hdf5 INTERFACE)
target_include_directories(titan_hdf5 SYSTEM INTERFACE ${TITAN_HDF5_INCLUDE})
target_link_libraries(titan_hdf5 INTERFACE ${TITAN_HDF5_LIB} ${TITAN_SZ_LIB} ${TITAN_AEC_LIB} ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS} m)
add_library(titan::hdf5 ALIAS titan_hdf5)

# zstd likewise where the static library is there, so that programs run on machines without it.
titan_need_header(TITAN_ZSTD_INCLUDE zstd.h libzstd-dev)
find_library(TITAN_ZSTD_LIB NAMES libzstd.a zstd)
if(NOT TITAN_ZSTD_LIB)
  message(FATAL_ERROR "libzstd not found; install it with: apt-get install libzstd-dev (or run scripts/bootstrap)")
endif()
add_library(titan_zstd INTERFACE)
target_include_directories(titan_zstd SYSTEM INTERFACE ${TITAN_ZSTD_INCLUDE})
target_link_libraries(titan_zstd INTERFACE ${TITAN_ZSTD_LIB} Threads::Threads)
add_library(titan::zstd ALIAS titan_zstd)

# xxHash is used header-only (XXH_INLINE_ALL): faster, and no shared library to find.
titan_need_header(TITAN_XXHASH_INCLUDE xxhash.h libxxhash-dev)
titan_need_header(TITAN_RAPIDJSON_INCLUDE rapidjson/reader.h rapidjson-dev)
titan_need_header(TITAN_CLI11_INCLUDE CLI/CLI.hpp libcli11-dev)
titan_need_header(TITAN_TOMLPP_INCLUDE toml++/toml.h libtomlplusplus-dev)

if(TITAN_TRAIN)
  pkg_check_modules(SPDLOG REQUIRED IMPORTED_TARGET spdlog)
  pkg_check_modules(TOMLPP REQUIRED IMPORTED_TARGET tomlplusplus)
endif()
if(TITAN_TESTS)
  find_package(GTest REQUIRED)
endif()

# What titan-train and a module of a device must have in common: C++ interfaces, of which a changed one gives no error of its own. Their files' digest is
# compared before anything else is called (libtrain/job/host/cuda_module.h).
file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/libtrain/engine/device/*.h ${CMAKE_SOURCE_DIR}/libtrain/engine/device/cpu/*.h ${CMAKE_SOURCE_DIR}/libtrain/engine/parallel/*.h ${CMAKE_SOURCE_DIR}/libtrain/engine/parallel/links/*.h ${CMAKE_SOURCE_DIR}/libtrain/job/control/*.h ${CMAKE_SOURCE_DIR}/libtrain/job/reduction/exchange_peers.h ${CMAKE_SOURCE_DIR}/ckpt/base/*.h)
list(APPEND files ${CMAKE_SOURCE_DIR}/libtrain/job/host/gpu_checks.h ${CMAKE_SOURCE_DIR}/ckpt/model/settings.h)
set(digests "")
foreach(file ${files})
  file(SHA256 ${file} digest)
  string(APPEND digests ${digest})
endforeach()
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 16 TITAN_INTERFACE)

// What LibTorch looks up in the driver (libcuda.so.1). The types of CUDA's header are left out: all but two are never
// called.
namespace {
constexpr int kNotSupported = 801;  // CUDA_ERROR_NOT_SUPPORTED
int context;
}  // namespace

extern "C" {

int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return 0;
}
int cuCtxGetCurrent(void** current) {
  *current = &context;
  return 0;
}

#define TITAN_NEVER_CALLED(name) \
  int name() { return kNotSupported; }
TITAN_NEVER_CALLED(cuCtxSetCurrent)
TITAN_NEVER_CALLED(cuDeviceGet)
TITAN_NEVER_CALLED(cuDeviceGetAttribute)
TITAN_NEVER_CALLED(cuDevicePrimaryCtxRetain)
TITAN_NEVER_CALLED(cuFuncGetAttribute)
TITAN_NEVER_CALLED(cuFuncSetAttribute)
TITAN_NEVER_CALLED(cuFuncSetCacheConfig)
TITAN_NEVER_CALLED(cuGetErrorString)
TITAN_NEVER_CALLED(cuLaunchCooperativeKernel)
TITAN_NEVER_CALLED(cuLaunchKernel)
TITAN_NEVER_CALLED(cuLinkAddData_v2)
TITAN_NEVER_CALLED(cuLinkComplete)
TITAN_NEVER_CALLED(cuLinkCreate_v2)
TITAN_NEVER_CALLED(cuModuleGetFunction)
TITAN_NEVER_CALLED(cuModuleLoad)
TITAN_NEVER_CALLED(cuModuleLoadData)
TITAN_NEVER_CALLED(cuModuleLoadDataEx)
TITAN_NEVER_CALLED(cuModuleUnload)
TITAN_NEVER_CALLED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
TITAN_NEVER_CALLED(cuPointerGetAttribute)
TITAN_NEVER_CALLED(cuTensorMapEncodeTiled)

}  // extern "C"

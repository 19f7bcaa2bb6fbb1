// The doors of libtitan_cuda.so: what titan-train looks up by name after it has opened the module.
#include <torch/headeronly/version.h>

#include "libtrain/cuda/gpu_probe.h"

#define TITAN_DOOR extern "C" __attribute__((visibility("default")))

// Plain C, so that a module of another build can be asked before anything else is.
TITAN_DOOR const char* titan_cuda_torch_version() { return TORCH_VERSION; }

TITAN_DOOR void titan_cuda_probe(titan::train::GpuFacts* facts) { *facts = titan::train::probe_gpus(); }

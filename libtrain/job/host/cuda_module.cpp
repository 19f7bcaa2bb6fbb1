#include "libtrain/job/host/cuda_module.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "libtrain/job/host/program_folder.h"

namespace titan::train {
namespace {

using ckpt::Result;
using ckpt::Status;

constexpr const char *kName = "libtitan_cuda.so", *kNamed = "TITAN_CUDA_MODULE";

bool is_named() {
  const char* const name = std::getenv(kNamed);
  return name != nullptr && *name != '\0';
}

std::string last_error() {
  const char* error = ::dlerror();
  return error == nullptr ? "unknown reason" : error;
}

Status not_this_one(const std::string& path, const std::string& why) {
  return ckpt::invalid(path + " cannot be used: " + why)
      .with_hint("build it together with titan-train, or --training.device=cpu");
}

/// Why `path` cannot be opened: built for another LibTorch, if its mark says so.
Status not_opened(const std::string& path, const std::string& torch) {
  const std::string why = last_error();
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string built = marked_torch(bytes);
  if (built.empty() || built == torch) return not_this_one(path, why);
  return check_module({.torch = built}, torch);
}

}  // namespace

std::string marked_torch(std::string_view bytes) {
  constexpr std::string_view kMark = "titan-cuda-module of LibTorch ";
  const std::size_t place = bytes.find(kMark);
  if (place == std::string_view::npos) return {};
  const std::string_view rest = bytes.substr(place + kMark.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789.")));
}

std::string cuda_module_path() {
  if (is_named()) return std::getenv(kNamed);
  return path_beside_program(kName, "lib");
}

bool has_cuda_module() { return ::access(cuda_module_path().c_str(), F_OK) == 0; }

bool has_nvidia_driver() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver != nullptr) ::dlclose(driver);
  return driver != nullptr;
}

Result<CudaModule> CudaModule::open(const std::string& path, const std::string& torch) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    if (is_named())
      return ckpt::invalid(std::string(kNamed) + " names " + path + ", which is no file")
          .with_hint(std::string("unset ") + kNamed + ", or name a libtitan_cuda.so; or --training.device=cpu");
    return ckpt::invalid("this titan-train was built without CUDA (" + path + " is not there)")
        .with_hint("scripts/bootstrap --cuda, then build again; or --training.device=cpu");
  }
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return not_opened(path, torch);
  const auto version = reinterpret_cast<const char* (*)()>(::dlsym(handle, "titan_cuda_torch_version"));
  if (version == nullptr) return not_this_one(path, "it is not the module of titan-train");
  TITAN_RETURN_IF_ERROR(check_module({.torch = version()}, torch));
  const auto interface = reinterpret_cast<const char* (*)()>(::dlsym(handle, "titan_cuda_interface"));
  if (interface == nullptr || std::string_view(interface()) != TITAN_INTERFACE)
    return not_this_one(path, "it belongs to another build of titan-train");
  return CudaModule(handle);
}

void* CudaModule::find(const char* name) const { return ::dlsym(handle_, name); }

GpuFacts CudaModule::probe() const {
  GpuFacts facts;
  if (const auto probe = reinterpret_cast<void (*)(GpuFacts*)>(find("titan_cuda_probe")); probe != nullptr)
    probe(&facts);
  return facts;
}

}  // namespace titan::train

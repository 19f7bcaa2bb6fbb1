#pragma once
// Between the types of the public headers and those of ckpt, and no exception gets out.
#include <exception>
#include <new>
#include <string>

#include "ckpt/base/status.h"
#include "ckpt/model/dtype.h"
#include "titan/ckpt/status.h"
#include "titan/ckpt/tensor.h"

namespace titan {

/// `status` in public words; about `path` where it names no checkpoint itself.
Status translated(const ckpt::Status& status, const std::string& path);
DType translated(ckpt::DType dtype);
ckpt::DType translated(DType dtype);

/// What `call` returns, or a Status in place of what it threw. `path`: what it is about.
template <typename Call>
auto guarded(const std::string& path, Call call) noexcept -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Status{Code::kFailed, path, "out of memory", {}, ""};
  } catch (const std::exception& thrown) {
    return Status{Code::kFailed, path, thrown.what(), {}, ""};
  }
}

}  // namespace titan

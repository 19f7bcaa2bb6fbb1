#pragma once
// Converts between the types of the public headers and those of ckpt, and catches exceptions.
#include <exception>
#include <new>
#include <string>

#include "ckpt/base/status.h"
#include "ckpt/model/dtype.h"
#include "titan/ckpt/status.h"
#include "titan/ckpt/tensor.h"

namespace titan {

/// `status` as the public type. The result's path is that of `status`, or `path` if `status` names no checkpoint.
Status translated(const ckpt::Status& status, const std::string& path);
DType translated(ckpt::DType dtype);
ckpt::DType translated(DType dtype);

/// Returns what `call` returns; an exception becomes a Status about `path`.
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

#include "api/translate.h"

namespace titan {
namespace {

// In the order of DType.
constexpr ckpt::DType kTypes[] = {ckpt::DType::kF32, ckpt::DType::kBF16, ckpt::DType::kF16, ckpt::DType::kF64,
                                  ckpt::DType::kI64, ckpt::DType::kI32,  ckpt::DType::kU8};

Code translated(ckpt::Code code) {
  switch (code) {
    case ckpt::Code::kOk: return Code::kOk;
    case ckpt::Code::kInvalid:
    case ckpt::Code::kUnsupported: return Code::kInvalid;
    case ckpt::Code::kNotFound: return Code::kNotFound;
    case ckpt::Code::kLocked: return Code::kLocked;
    case ckpt::Code::kCorrupt: return Code::kCorrupt;
    case ckpt::Code::kIncompatible: return Code::kIncompatible;
    case ckpt::Code::kMediaError: return Code::kUnreadable;
    case ckpt::Code::kFailed:
    case ckpt::Code::kInterrupted:
    case ckpt::Code::kTerminated: break;
  }
  return Code::kFailed;
}

}  // namespace

Status translated(const ckpt::Status& status, const std::string& path) {
  if (status.ok()) return {};
  return {translated(status.code), status.path.empty() ? path : status.path, status.message, status.causes,
          status.hint};
}

DType translated(ckpt::DType dtype) {
  int at = 0;
  while (kTypes[at] != dtype) ++at;
  return static_cast<DType>(at);
}

ckpt::DType translated(DType dtype) { return kTypes[static_cast<int>(dtype)]; }

}  // namespace titan

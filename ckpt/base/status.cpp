#include "ckpt/base/status.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

namespace titan::ckpt {

Status Status::with_hint(std::string text) const {
  Status copy = *this;
  copy.hint = std::move(text);
  return copy;
}

Status Status::wrapped(std::string outer) const {
  Status copy = *this;
  copy.causes.insert(copy.causes.begin(), copy.message);
  copy.message = std::move(outer);
  return copy;
}

Status Status::about(std::string checkpoint) const {
  Status copy = *this;
  if (!ok()) copy.path = std::move(checkpoint);
  return copy;
}

bool Status::store_refused() const {
  // The second row has the errors of Lustre, NFS and FUSE clients whose server cannot be reached.
  constexpr int kMayPass[] = {ENOSPC,   EDQUOT,    EIO,       ESTALE,       ETIMEDOUT,
                              ENOTCONN, ESHUTDOWN, EHOSTDOWN, EHOSTUNREACH, EREMOTEIO};
  return (code == Code::kFailed || code == Code::kMediaError) &&
         std::ranges::find(kMayPass, error) != std::end(kMayPass);
}

std::string Status::to_string() const {
  std::string text = message;
  for (const std::string& cause : causes) text += "\n  caused by: " + cause;
  if (!hint.empty()) text += "\n  hint: " + hint;
  return text;
}

namespace {
Status status(Code code, std::string&& message) {
  Status made;
  made.code = code;
  made.message = std::move(message);
  return made;
}
}  // namespace

Status invalid(std::string message) { return status(Code::kInvalid, std::move(message)); }
Status unsupported(std::string message) { return status(Code::kUnsupported, std::move(message)); }
Status failed(std::string message) { return status(Code::kFailed, std::move(message)); }
Status media_error(std::string message) { return status(Code::kMediaError, std::move(message)); }
Status not_found(std::string message) { return status(Code::kNotFound, std::move(message)); }
Status locked(std::string message) { return status(Code::kLocked, std::move(message)); }
Status corrupt(std::string message) { return status(Code::kCorrupt, std::move(message)); }
Status incompatible(std::string message) { return status(Code::kIncompatible, std::move(message)); }
Status interrupted(std::string message) { return status(Code::kInterrupted, std::move(message)); }
Status terminated(std::string message) { return status(Code::kTerminated, std::move(message)); }

const char* code_name(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalid: return "usage";
    case Code::kUnsupported: return "unsupported";
    case Code::kFailed: return "failed";
    case Code::kMediaError: return "media_error";
    case Code::kNotFound: return "not_found";
    case Code::kLocked: return "locked";
    case Code::kCorrupt: return "corruption";
    case Code::kIncompatible: return "incompatible";
    case Code::kInterrupted: return "interrupted";
    case Code::kTerminated: return "terminated";
  }
  return "failed";
}

}  // namespace titan::ckpt

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

bool Status::store_refused() const {
  constexpr int kMayPass[] = {ENOSPC, EDQUOT, EIO, ESTALE, ETIMEDOUT};
  return (code == Code::kFailed || code == Code::kMediaError) &&
         std::ranges::find(kMayPass, error) != std::end(kMayPass);
}

std::string Status::to_string() const {
  std::string text = message;
  for (const std::string& cause : causes) text += "\n  caused by: " + cause;
  if (!hint.empty()) text += "\n  hint: " + hint;
  return text;
}

Status invalid(std::string message) { return {Code::kInvalid, std::move(message), {}, {}, 0}; }
Status unsupported(std::string message) { return {Code::kUnsupported, std::move(message), {}, {}, 0}; }
Status failed(std::string message) { return {Code::kFailed, std::move(message), {}, {}, 0}; }
Status media_error(std::string message) { return {Code::kMediaError, std::move(message), {}, {}, 0}; }
Status not_found(std::string message) { return {Code::kNotFound, std::move(message), {}, {}, 0}; }
Status locked(std::string message) { return {Code::kLocked, std::move(message), {}, {}, 0}; }
Status corrupt(std::string message) { return {Code::kCorrupt, std::move(message), {}, {}, 0}; }
Status incompatible(std::string message) { return {Code::kIncompatible, std::move(message), {}, {}, 0}; }
Status interrupted(std::string message) { return {Code::kInterrupted, std::move(message), {}, {}, 0}; }
Status terminated(std::string message) { return {Code::kTerminated, std::move(message), {}, {}, 0}; }

int exit_code(Code code) {
  switch (code) {
    case Code::kOk: return 0;
    case Code::kInvalid:
    case Code::kUnsupported: return 2;
    case Code::kFailed:
    case Code::kMediaError: return 3;
    case Code::kNotFound: return 10;
    case Code::kLocked: return 11;
    case Code::kCorrupt: return 12;
    case Code::kIncompatible: return 13;
    case Code::kInterrupted: return 130;
    case Code::kTerminated: return 143;
  }
  return 3;
}

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

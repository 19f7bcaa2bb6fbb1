#pragma once
// Status: what went wrong, why, and what to do about it. Functions of ckpt return it; they do not throw, except where
// their comment says so or memory runs out.
#include <string>
#include <vector>

namespace titan::ckpt {

/// The kind of a failure. exit_code() maps it to the documented exit code.
enum class Code {
  kOk,
  kInvalid,       ///< usage or configuration that cannot work (exit code 2)
  kUnsupported,   ///< not implemented, or needs something that Titan lacks (exit code 2)
  kFailed,        ///< the operation failed: disk full, I/O error, a rank that died, non-finite loss (exit code 3)
  kMediaError,    ///< stored bytes or names could not be read (EIO; exit code 3). They may be undamaged
  kNotFound,      ///< the checkpoint, tensor or path does not exist (exit code 10)
  kLocked,        ///< a running job or tool holds the folder's lock (exit code 11)
  kCorrupt,       ///< bytes do not match their digests, or cannot be parsed (exit code 12)
  kIncompatible,  ///< newer format, drift, fewer steps than the checkpoint has, impossible mesh (exit code 13)
  kInterrupted,   ///< stopped by SIGINT before the end, and cleaned up (exit code 130); see cancel.h
  kTerminated,    ///< as kInterrupted, by SIGTERM or SIGHUP (exit code 143)
};

/// The outcome of a call. `message` names the object, what was expected and what was found. `causes` are printed as
/// "caused by:" lines. `hint` is printed as a "hint:" line, often a command that users can paste.
struct [[nodiscard]] Status {
  Code code = Code::kOk;
  std::string message;
  std::vector<std::string> causes;
  std::string hint;
  int error = 0;     ///< errno of the system call that failed; 0 if none did
  std::string path;  ///< folder of the checkpoint that the error is about, if the call reads several; else empty

  bool ok() const { return code == Code::kOk; }
  bool operator==(const Status&) const = default;

  /// Returns a copy with `hint` set.
  Status with_hint(std::string text) const;
  /// Returns a copy with the message `outer`; the present message becomes the first cause.
  Status wrapped(std::string outer) const;
  /// Returns a copy with `path` = `checkpoint`; an ok Status is returned unchanged.
  Status about(std::string checkpoint) const;
  /// True for a store error that may be temporary: no space, quota, I/O error, unreachable server.
  bool store_refused() const;
  /// Returns message, causes and hint on one line each, for logs and tests.
  std::string to_string() const;
};

inline Status ok_status() { return {}; }
Status invalid(std::string message);
Status unsupported(std::string message);
Status failed(std::string message);
Status media_error(std::string message);
Status not_found(std::string message);
Status locked(std::string message);
Status corrupt(std::string message);
Status incompatible(std::string message);
Status interrupted(std::string message);
Status terminated(std::string message);

/// Returns the machine-readable name of `code` ("corruption", "not_found", ...), used in JSON errors.
const char* code_name(Code code);

}  // namespace titan::ckpt

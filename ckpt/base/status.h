#pragma once
// Status: what went wrong, why, and what to do about it. ckpt never throws across its borders.
#include <string>
#include <utility>
#include <vector>

namespace titan::ckpt {

/// What kind of failure a Status is; exit_code() maps it to the published exit codes.
enum class Code {
  kOk,
  kInvalid,       ///< usage or configuration that cannot work (exit 2)
  kUnsupported,   ///< not built yet, or asks for something we lack (exit 2)
  kFailed,        ///< the operation failed: disk full, I/O error, dead rank, non-finite loss (exit 3)
  kMediaError,    ///< the store cannot give back bytes or names that it holds (EIO while reading; exit 3). No proof of
                  ///< damage
  kNotFound,      ///< no checkpoint, tensor or path there (exit 10)
  kLocked,        ///< a live run owns the folder (exit 11)
  kCorrupt,       ///< bytes do not match their digests, or cannot be parsed (exit 12)
  kIncompatible,  ///< newer format, drift, steps behind the checkpoint, infeasible mesh (exit 13)
  kInterrupted,   ///< stopped by SIGINT before it was done, nothing is half-made (exit 130); see cancel.h
  kTerminated,    ///< the same by SIGTERM (exit 143)
};

/// The outcome of a call: `message` names the thing, what was expected and what was found; `causes` are printed
/// as "caused by:" lines, `hint` as a "hint:" line that can be pasted.
struct [[nodiscard]] Status {
  Code code = Code::kOk;
  std::string message;
  std::vector<std::string> causes;
  std::string hint;
  int error = 0;     ///< errno of the system call that failed, where there was one
  std::string path;  ///< the folder of the checkpoint that it is about, where a call reads several; else empty

  bool ok() const { return code == Code::kOk; }
  bool operator==(const Status&) const = default;

  /// Returns a copy with `hint` set.
  Status with_hint(std::string text) const;
  /// Returns a copy whose message is `outer`, and whose first cause is the present message.
  Status wrapped(std::string outer) const;
  /// Returns a copy that says which checkpoint it is about; as it is where it is ok.
  Status about(std::string checkpoint) const;
  /// True where the store refused for a reason that may pass: no space, the quota, an I/O error, a server that was
  /// away.
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

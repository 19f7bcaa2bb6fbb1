#pragma once
// The outcome of a library call. Functions of the library report errors by it; they throw only if memory runs out.
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace titan {

/// The kind of a failure.
enum class Code {
  kOk,
  kInvalid,       ///< an invalid argument
  kNotFound,      ///< the checkpoint, tensor, component or file does not exist
  kLocked,        ///< a running job or tool holds the folder's lock
  kCorrupt,       ///< bytes do not match their digests
  kIncompatible,  ///< the checkpoint's format is newer than this library
  kFailed,        ///< the operation failed: disk full, no permission, no memory
  kUnreadable,    ///< the read failed with an I/O error (EIO); the bytes may be whole or damaged
};

/// The outcome of a call: ok, or what went wrong and what to do about it.
struct [[nodiscard]] Status {
  Code code = Code::kOk;
  std::string path;                 ///< the checkpoint or folder that the error is about
  std::string what;                 ///< what was expected and what was found
  std::vector<std::string> causes;  ///< causes, the most direct first; often empty
  std::string hint;                 ///< what to do; empty if there is no advice

  bool ok() const { return code == Code::kOk; }
  /// Returns what, causes and hint, one per line.
  std::string text() const;
};

/// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  /// The value. Call it only if ok().
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace titan

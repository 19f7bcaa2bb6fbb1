#pragma once
// Result<T>: a T or the Status that explains why there is none.
#include <cassert>
#include <optional>
#include <utility>

#include "ckpt/base/status.h"

namespace titan::ckpt {

/// Holds either a value or a non-ok Status.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                                  // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT: implicit by design

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & {
    assert(ok());
    return *value_;
  }
  const T& value() const& {
    assert(ok());
    return *value_;
  }
  T&& value() && {
    assert(ok());
    return *std::move(value_);
  }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

/// Returns `result`; if it is an error, with `checkpoint` as its Status::path.
template <typename T>
Result<T> about(Result<T> result, const std::string& checkpoint) {
  if (!result.ok()) return result.status().about(checkpoint);
  return result;
}

}  // namespace titan::ckpt

#define TITAN_CONCAT_INNER(a, b) a##b
#define TITAN_CONCAT(a, b) TITAN_CONCAT_INNER(a, b)
/// Returns from the enclosing function when `expr` (a Status) is not ok.
#define TITAN_RETURN_IF_ERROR(expr)                                                              \
  do {                                                                                           \
    if (::titan::ckpt::Status titan_status_ = (expr); !titan_status_.ok()) return titan_status_; \
  } while (0)
/// Evaluates `expr` (a Result<T>); assigns its value to `lhs` or returns its Status from the enclosing function.
#define TITAN_ASSIGN_OR_RETURN(lhs, expr) TITAN_ASSIGN_OR_RETURN_INNER(TITAN_CONCAT(titan_result_, __LINE__), lhs, expr)
#define TITAN_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                                 \
  if (!result.ok()) return result.status();             \
  lhs = std::move(result).value()

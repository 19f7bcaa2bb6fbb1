#pragma once
// Reading a checkpoint.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "titan/ckpt/state.h"
#include "titan/ckpt/status.h"
#include "titan/ckpt/tensor.h"

namespace titan {

/// A place of a checkpoint that is damaged, or that the store could not give back.
struct Damage {
  std::string file;          ///< within the checkpoint's folder
  std::string unit;          ///< "leaf", "table", "envelope", "json", "derived", "manifest", "size", "missing", "link"
  std::string tensor;        ///< the tensor that has the bytes, where unit is "leaf"
  std::uint64_t offset = 0;  ///< of the unit in the file, in bytes
  std::uint64_t bytes = 0;   ///< of the unit
  std::string detail;        ///< what was expected and what was found
  bool unreadable = false;   ///< the store failed: nothing is known of these bytes
};

/// What verify() found.
struct Verification {
  std::uint64_t bytes = 0;     ///< that were read and checked
  std::uint64_t places = 0;    ///< damaged or unreadable ones; 0: every byte is whole
  std::vector<Damage> damage;  ///< the first 10,000 of each kind
  bool whole() const { return places == 0; }
};

/// A checkpoint that is there. It is never changed. Every byte that is read is checked against its digest. Reading is
/// thread-safe. Copies share what they hold.
class Checkpoint {
 public:
  /// Opens a folder, or what "RUN@<step>" and "RUN@latest" name. RUN is a run folder, or any folder of steps.
  /// \error kNotFound, kCorrupt, kIncompatible, kFailed
  static Result<Checkpoint> open(const std::string& name) noexcept;

  const std::string& path() const;                 ///< the folder
  const std::string& id() const;                   ///< 32 hex digits; equal ids mean equal state, whatever the layout
  std::uint64_t step() const;                      ///< optimizer steps that were done
  const std::vector<TensorInfo>& tensors() const;  ///< the model's in model order, then the optimizer's
  /// Why newer steps were passed over where "RUN@latest" was opened, a line each.
  const std::vector<std::string>& notes() const;

  /// The tensor of that name, or null. It lives as long as this checkpoint or a copy of it.
  const TensorInfo* find(std::string_view tensor) const noexcept;

  /// Reads a whole tensor into `out`, which has exactly its bytes and is the caller's.
  /// \error kNotFound, kInvalid (the size of `out`), kCorrupt, kUnreadable, kFailed
  Status read(const std::string& tensor, std::span<std::byte> out) const noexcept;
  /// Reads the slice that has one range for each dimension, row-major and without gaps, into `out`, which has exactly
  /// its bytes. Dimensions at the end that have no range are read whole. \error as above; kInvalid (a range outside)
  Status read(const std::string& tensor, std::span<const Range> slice, std::span<std::byte> out) const noexcept;

  /// The state beside the tensors. Of a checkpoint without train state: step, program and settings alone.
  /// \error kCorrupt, kUnreadable, kFailed
  Result<State> state() const noexcept;
  /// The text of a JSON component: "lr_scheduler", "dataloader" or "train_state"; FORMAT.md says what is in them.
  /// \error kNotFound, kCorrupt, kUnreadable, kFailed
  Result<std::string> json(const std::string& component) const noexcept;

  /// Reads every byte of every file with `threads` threads (0: as many as suit disk and cores) and reports all damage.
  /// Damage is no error. \error kNotFound (the checkpoint is gone), kFailed
  Result<Verification> verify(unsigned threads = 0) const noexcept;

 private:
  struct Impl;
  explicit Checkpoint(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace titan

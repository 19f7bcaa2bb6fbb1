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

/// A unit of a checkpoint that is damaged, or that could not be read.
struct Damage {
  std::string file;          ///< path in the checkpoint's folder
  std::string unit;          ///< "leaf", "table", "envelope", "json", "derived", "manifest", "size", "missing", "link";
                             ///< also "file" if unreadable
  std::string tensor;        ///< the tensor that has the bytes, if `unit` is "leaf"
  std::uint64_t offset = 0;  ///< where the unit begins in the file, in bytes
  std::uint64_t bytes = 0;   ///< length of the unit, in bytes
  std::string detail;        ///< what was expected and what was found
  bool unreadable = false;   ///< the read failed with an I/O error (EIO): the unit may be whole or damaged
};

/// What verify() found.
struct Verification {
  std::uint64_t bytes = 0;     ///< number of bytes read and checked
  std::uint64_t places = 0;    ///< number of damaged or unreadable units; 0: every byte is whole
  std::vector<Damage> damage;  ///< at most 10,000 damaged and unreadable units together; `places` counts all
  bool whole() const { return places == 0; }
};

/// An existing checkpoint, opened read-only. Every read checks the bytes against their digests. Reading is thread-safe.
/// Copies of this object share their data.
class Checkpoint {
 public:
  /// Opens the checkpoint `name`: a folder, "RUN@<step>" or "RUN@latest". RUN is a run folder, or any folder of steps.
  /// \error kNotFound, kCorrupt, kIncompatible, kUnreadable, kFailed
  static Result<Checkpoint> open(const std::string& name) noexcept;

  const std::string& path() const;                 ///< the folder
  const std::string& id() const;                   ///< 32 hex digits; equal ids mean equal state, whatever the layout
  std::uint64_t step() const;                      ///< optimizer steps done
  const std::vector<TensorInfo>& tensors() const;  ///< parameters in model order, then optimizer state
  /// Why "RUN@latest" skipped newer steps, one line each. Empty if another form of name was opened.
  const std::vector<std::string>& notes() const;

  /// The tensor called `tensor`, or null. The pointer is valid as long as this checkpoint or a copy of it exists.
  const TensorInfo* find(std::string_view tensor) const noexcept;

  /// Reads a whole tensor into `out`, whose size must be exactly the size of the tensor in bytes.
  /// \error kNotFound, kInvalid (the size of `out`), kCorrupt, kUnreadable, kFailed
  Status read(const std::string& tensor, std::span<std::byte> out) const noexcept;
  /// Reads a slice into `out`, row-major and without gaps. `slice` has one range per dimension; trailing dimensions
  /// without a range are read whole. The size of `out` must be exactly the size of the slice in bytes. \error as for a
  /// whole tensor; kInvalid (a range outside of the tensor)
  Status read(const std::string& tensor, std::span<const Range> slice, std::span<std::byte> out) const noexcept;

  /// The state of the training without tensors. If the checkpoint has no component "train_state", only step, program
  /// and settings are set.
  /// \error kCorrupt, kUnreadable, kFailed
  Result<State> state() const noexcept;
  /// The JSON text of a component: "lr_scheduler", "dataloader" or "train_state". ckpt/FORMAT.md describes them.
  /// \error kNotFound, kCorrupt, kUnreadable, kFailed
  Result<std::string> json(const std::string& component) const noexcept;

  /// Reads every byte of the manifest and of the files that it lists, and reports all damage; damage is not an error.
  /// `threads` = 0: one per core, at least 4 and at most 16. \error kNotFound (the checkpoint no longer exists),
  /// kFailed
  Result<Verification> verify(unsigned threads = 0) const noexcept;

 private:
  struct Impl;
  explicit Checkpoint(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

}  // namespace titan

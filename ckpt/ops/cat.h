#pragma once
// `cat`: shows one tensor or a slice of it, however it is sharded, or writes it as a NumPy file.
#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/base/cancel.h"
#include "ckpt/ops/inspect.h"
#include "ckpt/ops/slice.h"

namespace titan::ckpt {

class Fs;

struct CatOptions {
  std::string checkpoint;     ///< a folder, RUN@step or RUN@latest
  std::string tensor;         ///< stored name: "<parameter>" or "<parameter>.<slot>", also with a slice "[0:10, :]"
  std::string out;            ///< NumPy file to write; empty: none
  std::uint64_t preview = 8;  ///< number of values shown at the beginning and at the end
  CancelToken cancel;         ///< polled while `out` is written
  CheckpointOpener open = CheckpointReader::open;
};

struct CatReport {
  std::string path;  ///< folder of the checkpoint
  std::uint64_t step = 0;
  Digest id;
  TensorRow tensor;
  Slice slice;                           ///< the part that is shown and written
  std::uint64_t elements = 0;            ///< number of elements in the slice
  std::vector<std::string> first, last;  ///< the previewed values as text; `last` is empty if `first` has all of them
  std::string out;                       ///< as in CatOptions
  DType out_dtype = DType::kF32;         ///< element type of the file: float32 for bfloat16 (no loss)
  std::uint64_t out_bytes = 0;
};

/// Shows a tensor or a slice of it. For the preview, reads only the leaves with the first and last values. With `out`,
/// also reads every leaf with elements of the slice, about 1 MiB at a time. `out` is replaced only when the new file is
/// complete; if `out` is in a run folder, under the lock of the run.
/// \error kNotFound (no checkpoint, or no such tensor; names similar ones), kInvalid, kUnsupported (the slice), kLocked,
/// kCorrupt, kIncompatible, kMediaError, kFailed, kInterrupted, kTerminated
Result<CatReport> cat_tensor(Fs& fs, const CatOptions& options);

/// The header of a .npy file, format 1.0, padded so that the data starts at a multiple of 64 bytes.
/// \source https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
std::string npy_header(DType dtype, const std::vector<std::uint64_t>& shape);

}  // namespace titan::ckpt

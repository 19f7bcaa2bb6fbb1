#pragma once
// Common code of writers for formats that hold only a model.
#include <functional>
#include <string>

#include "converters/format.h"
#include "converters/write_behind.h"
#include "recipe/model/dims.h"

namespace titan::convert {

class ModelWriter : public ForeignWriter {
 protected:
  using ForeignWriter::ForeignWriter;
  using Block = WriteBehind::Block;
  /// Converts a block of elements, the first of which has index `at` in its tensor, to the bytes to write.
  using Make = std::function<Result<Block>(std::uint64_t at, Block elements)>;

  /// Checks that the format can express `model_`. Called before the first add().
  virtual Status check_model() = 0;
  /// Plans to write the weights of the parameter with this index in the manifest.
  virtual Status add(std::uint32_t parameter) = 0;

  /// Sets `model_` and calls add() for each parameter that is not skipped. Reports the tensors that are not written,
  /// including all moments. `untie`: the head is written as a separate tensor. \error kIncompatible: there is no model,
  /// or nothing is left to write; errors of agreed_rows, check_model, check_parameters, add and SkipRules::check_used
  Status plan_model(bool untie);
  /// \error kUnsupported: weights cannot be cast to the type that was asked for
  Status check_dtype() const;
  /// The error that the format has no place for the tensor `name`. \error kIncompatible always
  Status no_place(const std::string& name) const;
  /// Reports the head as tied to the tensor that was reported last.
  void report_tied_head();

  /// Reads a tensor of the checkpoint in blocks, converts each with `make` and writes the results one after another
  /// from file offset `offset` on. All blocks but the last have a multiple of `multiple` elements. `head_dim`: as for
  /// OrderedReader::open.
  Status write_elements(WriteBehind& behind, std::uint64_t offset, const ckpt::TensorRef& ref, std::uint64_t head_dim,
                        std::uint64_t multiple, const Make& make, const Progress& progress);
  /// Casts `elements` of the tensor `name`, from index `at` on, and adds the rounding errors to `rounding_`.
  Block cast_block(DType from, DType to, const std::string& name, std::uint64_t at, Block elements);

  recipe::ModelDims model_;
  std::uint64_t done_ = 0;  // bytes written so far, for progress

 private:
  Block spare_;  // output buffer of cast_block()
};

}  // namespace titan::convert

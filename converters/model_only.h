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
  /// Makes of the elements from `at` on what is written of them.
  using Make = std::function<Result<Block>(std::uint64_t at, Block elements)>;

  /// What the format needs of `model_`, before a tensor is added.
  virtual Status check_model() = 0;
  /// Adds a parameter whose weights are written.
  virtual Status add(std::uint32_t parameter) = 0;

  /// Finds the model that is written, and adds its parameters; reports what is not written: moments never are. `untie`:
  /// the model is written untied. \error kIncompatible: there is no model, or nothing is left to write; as agreed_rows,
  /// check_model and add
  Status plan_model(bool untie);
  /// \error kUnsupported: weights cannot be cast to the type that was asked for
  Status check_dtype() const;
  /// The error that the format has no place for the tensor `name`. \error kIncompatible always
  Status no_place(const std::string& name) const;
  /// Reports the head as tied to the tensor that was reported last.
  void report_tied_head();

  /// Writes a tensor of ours from `offset` on, as `make` makes it of blocks of whole multiples of `multiple` elements.
  Status write_elements(WriteBehind& behind, std::uint64_t offset, const ckpt::TensorRef& ref, std::uint64_t head_dim,
                        std::uint64_t multiple, const Make& make, const Progress& progress);
  /// `elements` of the tensor `name`, cast; counts what is rounded.
  Block cast_block(DType from, DType to, const std::string& name, std::uint64_t at, Block elements);

  recipe::ModelDims model_;
  std::uint64_t done_ = 0;  // bytes that are written

 private:
  Block spare_;  // of a block that is cast
};

}  // namespace titan::convert

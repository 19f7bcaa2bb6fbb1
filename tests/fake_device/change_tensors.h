#pragma once
// The tensors in an argument or result of an operation that is called by its stack.
#include <optional>

#include <ATen/core/ivalue.h>

namespace titan::test {

/// Replaces each tensor in a value.
template <typename Change>
void change_tensors(c10::IValue& value, Change change) {
  if (value.isTensor()) {
    value = change(value.toTensor());
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(change(tensor));
    value = list;
  } else if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector())
      list.push_back(tensor ? std::optional(change(*tensor)) : std::nullopt);
    value = list;
  }
}

}  // namespace titan::test

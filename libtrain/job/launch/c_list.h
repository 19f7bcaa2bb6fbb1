#pragma once
// Arguments and environment variables in the form that exec takes: an array of C strings that ends with a null pointer.
#include <string>
#include <vector>

namespace titan::train {

/// The addresses of `texts`, then a null pointer. `texts` must outlive the result.
inline std::vector<char*> c_list(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace titan::train

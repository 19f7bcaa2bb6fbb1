#pragma once
// Words and environments as exec wants them.
#include <string>
#include <vector>

namespace titan::train {

/// The addresses of `texts` and a null behind them. `texts` must outlive it.
inline std::vector<char*> c_list(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

}  // namespace titan::train

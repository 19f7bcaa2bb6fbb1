#pragma once
// Byte strings for the tests of the DCP parsers.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace titan::convert::dcp::testing {

/// "80 04 2e" as bytes; text in 'quotes' stands for itself.
inline std::string bytes_of(std::string_view spec) {
  std::string out;
  for (std::size_t i = 0; i < spec.size();) {
    if (spec[i] == ' ') {
      ++i;
    } else if (spec[i] == '\'') {
      const std::size_t end = spec.find('\'', i + 1);
      out += spec.substr(i + 1, end - i - 1);
      i = end + 1;
    } else {
      out.push_back(static_cast<char>(std::stoi(std::string(spec.substr(i, 2)), nullptr, 16)));
      i += 2;
    }
  }
  return out;
}

}  // namespace titan::convert::dcp::testing

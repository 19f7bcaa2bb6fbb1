#pragma once
// Values as bytes, one after the other. Messages travel between ranks of one program and are never stored.
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace titan::train {

class MessageWriter {
 public:
  MessageWriter& number(std::uint64_t value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  MessageWriter& text(std::string_view value) {
    number(value.size());
    bytes_ += value;
    return *this;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what MessageWriter wrote, in the same order; throws std::runtime_error beyond the end.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number() {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(bytes(number())); }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view bytes(std::uint64_t count) {
    if (count > rest_.size()) throw std::runtime_error("a message of another rank is cut off");
    const std::string_view part = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return part;
  }

  std::string_view rest_;
};

}  // namespace titan::train

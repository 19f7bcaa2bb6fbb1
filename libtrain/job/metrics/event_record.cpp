#include "libtrain/job/metrics/event_record.h"

#include <array>
#include <bit>

// \source tensorflow: core/lib/io/record_writer (frame, mask), core/util/event.proto, core/framework/summary.proto
namespace titan::train {
namespace {

constexpr std::array<std::uint32_t, 256> kCrcTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0x82F63B78u : 0);
    table[i] = c;
  }
  return table;
}();

// Wire types of protobuf.
constexpr unsigned kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

std::string little_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  return out;
}

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}

std::string key(unsigned field, unsigned type) { return varint(field << 3 | type); }
std::string number(unsigned field, std::uint64_t value) {
  return value == 0 ? "" : key(field, kVarint) + varint(value);  // protobuf leaves zeros out
}
std::string bytes(unsigned field, const std::string& value) {
  return key(field, kBytes) + varint(value.size()) + value;
}

std::string masked_crc(std::string_view data) {
  const std::uint32_t crc = crc32c(data);
  return little_endian(std::rotr(crc, 15) + 0xa282ead8u, 4);
}

std::string framed(const std::string& data) {
  const std::string length = little_endian(data.size(), 8);
  return length + masked_crc(length) + data + masked_crc(data);
}

std::string event(double wall_time, std::uint64_t step, const std::string& what) {
  return framed(key(1, kFixed64) + little_endian(std::bit_cast<std::uint64_t>(wall_time), 8) + number(2, step) + what);
}

}  // namespace

std::uint32_t crc32c(std::string_view data) {
  std::uint32_t c = ~0u;
  for (const char byte : data) c = (c >> 8) ^ kCrcTable[(c ^ static_cast<unsigned char>(byte)) & 0xff];
  return ~c;
}

std::string file_version_record(double wall_time) { return event(wall_time, 0, bytes(3, "brain.Event:2")); }

std::string start_record(double wall_time, std::uint64_t step) {
  constexpr std::uint64_t kStart = 1;
  return event(wall_time, step, bytes(7, number(1, kStart)));
}

std::string scalars_record(double wall_time, std::uint64_t step, const std::vector<BoardScalar>& scalars) {
  std::string summary;
  for (const BoardScalar& scalar : scalars) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(scalar.value));
    summary += bytes(1, bytes(1, scalar.tag) + key(2, kFixed32) + little_endian(bits, 4));
  }
  return event(wall_time, step, bytes(5, summary));
}

}  // namespace titan::train

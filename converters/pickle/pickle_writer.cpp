#include "converters/pickle/pickle_writer.h"

#include <bit>

#include "converters/little_endian.h"

namespace titan::convert {

PickleWriter::PickleWriter(int protocol) : protocol_(protocol) {
  out_.push_back('\x80');
  out_.push_back(static_cast<char>(protocol));
}

void PickleWriter::put(char opcode, std::uint64_t argument, std::size_t bytes) {
  out_.push_back(opcode);
  put_le(out_, argument, bytes);
}

void PickleWriter::memoize() {
  if (protocol_ >= 4) {
    out_.push_back('\x94');
  } else if (memoized_ < 256) {
    put('q', memoized_, 1);
  } else {
    put('r', memoized_, 4);
  }
  ++memoized_;
}

// Writes a reference if `key` was written before; otherwise the next memo entry becomes the one of `key`.
bool PickleWriter::recall(const std::string& key) {
  if (protocol_ < 4) return false;
  const auto [found, added] = known_.try_emplace(key, 0);
  if (added) return false;
  const bool near = found->second < 256;
  put(near ? 'h' : 'j', found->second, near ? 1 : 4);
  return true;
}

void PickleWriter::integer(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= 0 && value < 256) {
    put('K', bits, 1);
  } else if (value >= 0 && value < 65536) {
    put('M', bits, 2);
  } else if (value >= INT32_MIN && value <= INT32_MAX) {
    put('J', bits, 4);
  } else {
    std::size_t bytes = 8;  // reduced to the fewest bytes that keep value and sign
    while (bytes > 1 && (value >> (8 * (bytes - 1) - 1) == 0 || value >> (8 * (bytes - 1) - 1) == -1)) --bytes;
    put('\x8a', bytes, 1);
    put_le(out_, bits, bytes);
  }
}

void PickleWriter::real(double value) { put('G', __builtin_bswap64(std::bit_cast<std::uint64_t>(value)), 8); }

void PickleWriter::text(std::string_view value) {
  const std::string key = "s" + std::string(value);
  if (recall(key)) return;
  const bool short_text = protocol_ >= 4 && value.size() < 256;
  put(short_text ? '\x8c' : 'X', value.size(), short_text ? 1 : 4);
  out_.append(value);
  known_[key] = memoized_;
  memoize();
}

void PickleWriter::global(std::string_view module, std::string_view name) {
  const std::string key = "g" + std::string(module) + "\n" + std::string(name);
  if (recall(key)) return;
  if (protocol_ >= 4) {
    text(module);
    text(name);
    out_.push_back('\x93');
  } else {
    out_.append("c").append(module).append("\n").append(name).append("\n");
  }
  known_[key] = memoized_;
  memoize();
}

void PickleWriter::tuple(std::size_t parts) {
  if (parts == 0) {
    out_.push_back(')');  // the empty tuple is a singleton: never in the memo
    return;
  }
  out_.push_back(parts == 1 ? '\x85' : parts == 2 ? '\x86' : parts == 3 ? '\x87' : 't');
  memoize();
}

void PickleWriter::integers(const std::vector<std::uint64_t>& values) {
  if (values.size() > 3) mark();
  for (const std::uint64_t value : values) integer(static_cast<std::int64_t>(value));
  tuple(values.size());
}

void PickleWriter::size(const std::vector<std::uint64_t>& dims) {
  global("torch", "Size");
  integers(dims);
  tuple(1);
  reduce();
}

void PickleWriter::value(const ItemValue& v) {
  switch (v.kind) {
    case ItemValue::Kind::kNone: return none();
    case ItemValue::Kind::kBool: return boolean(v.integer != 0);
    case ItemValue::Kind::kInt: return integer(v.integer);
    case ItemValue::Kind::kFloat: return real(v.real);
    case ItemValue::Kind::kText:
    case ItemValue::Kind::kBytes: return text(v.text);
    case ItemValue::Kind::kTuple:
      if (v.parts.size() > 3) mark();
      for (const ItemValue& part : v.parts) value(part);
      return tuple(v.parts.size());
    case ItemValue::Kind::kList:
      empty_list();
      if (v.parts.size() > 1) mark();
      for (const ItemValue& part : v.parts) value(part);
      if (v.parts.size() > 1)
        appends();
      else if (v.parts.size() == 1)
        append();
      return;
    case ItemValue::Kind::kDict:
      empty_dict();
      mark();
      for (const ItemValue& part : v.parts) value(part);
      return set_items();
  }
}

std::string PickleWriter::finish() && {
  out_.push_back('.');
  return std::move(out_);
}

}  // namespace titan::convert

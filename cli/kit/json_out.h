#pragma once
// Writing one JSON document. The only file that knows the JSON library of the programs is json_out.cpp.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace titan::cli {

/// Builds a document in memory. Inside an object use the calls with a key, inside an array those without. Text that is
/// not UTF-8 gets replacement characters; non-finite numbers become the strings "nan", "inf", "-inf".
class JsonOut {
 public:
  JsonOut();
  /// Begins a document whose "schema" is this; document() ends it.
  explicit JsonOut(const char* schema);
  ~JsonOut();
  JsonOut(const JsonOut&) = delete;
  JsonOut& operator=(const JsonOut&) = delete;

  void begin_object();
  void begin_object(std::string_view key);
  void end_object();
  void begin_array();
  void begin_array(std::string_view key);
  void end_array();

  void text(std::string_view value);
  void text(std::string_view key, std::string_view value);
  void count(std::uint64_t value);
  void count(std::string_view key, std::uint64_t value);
  void integer(std::string_view key, std::int64_t value);
  void real(double value);
  void real(std::string_view key, double value);
  /// `digits` as they are when they are a number, as a string when they are "nan", "inf" or "-inf".
  void number(std::string_view digits);
  void flag(std::string_view key, bool value);
  void null(std::string_view key);
  void count(std::string_view key, const std::optional<std::uint64_t>& value);  ///< null where there is none
  void real(std::string_view key, const std::optional<double>& value);          ///< likewise
  void text_or_null(std::string_view key, std::string_view value);              ///< null for ""
  /// As text; a path that is not UTF-8 gets a sibling "<key>_b64" with its exact bytes.
  void path(std::string_view key, std::string_view value);

  /// An array of texts.
  void texts(std::string_view key, const std::vector<std::string>& values);
  /// An array of objects with one path each, `member`.
  void paths(std::string_view key, const char* member, const std::vector<std::string>& values);

  /// An array with an object for each of `items`, which `fill` fills.
  template <typename Items, typename Fill>
  void each(std::string_view key, const Items& items, Fill fill) {
    begin_array(key);
    for (const auto& item : items) {
      begin_object();
      fill(item);
      end_object();
    }
    end_array();
  }

  /// Ends the object that the schema began, and returns the document.
  std::string document();
  /// The document so far with a newline at its end.
  std::string line() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace titan::cli

#include "libtrain/job/data/log_look.h"

#include "ckpt/base/text.h"

#include <algorithm>
#include <iterator>

namespace titan::train {
namespace {

constexpr std::size_t kBeginning = 40;  // characters of a line
constexpr int kLines = 200, kEnough = 3;

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return is_upper(c) || (c >= 'a' && c <= 'z'); }

/// Whether `text` matches `form` at its beginning; 'd' stands for a digit.
bool has_form(std::string_view text, std::string_view form) {
  return text.size() >= form.size() && std::ranges::equal(text.substr(0, form.size()), form, [](char c, char wanted) {
           return wanted == 'd' ? ckpt::is_digit(c) : c == wanted;
         });
}

/// "Nov 22", "Nov  2", "Nov/2026".
bool is_month_with_number(std::string_view text) {
  constexpr std::string_view kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  if (std::ranges::find(kMonths, text.substr(0, 3)) == std::end(kMonths)) return false;
  text.remove_prefix(3);
  return has_form(text, " d") || has_form(text, "  d") || has_form(text, "/dddd");
}

bool is_date(std::string_view text) {
  constexpr std::string_view kForms[] = {"dddd-dd-dd", "dddd/dd/dd", "dd/dd/dddd", "dd.dd.dddd", "dd-dd dd:dd"};
  return is_month_with_number(text) ||
         std::ranges::any_of(kForms, [&](std::string_view form) { return has_form(text, form); });
}

/// A log level as a word of its own, in capitals or before a bracket, since prose also has "error".
bool is_level(std::string_view text) {
  constexpr std::string_view kLevels[] = {"TRACE", "DEBUG",    "INFO",  "NOTICE", "WARN",  "WARNING",
                                          "ERROR", "CRITICAL", "FATAL", "info",   "error", "warn"};
  const auto end = std::ranges::find_if_not(text, is_letter);
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  return std::ranges::find(kLevels, word) != std::end(kLevels) &&
         (is_upper(word[0]) || (end != text.end() && *end == ']'));
}

/// The log-like fields at the beginning of a line.
struct Marks {
  bool date = false, time = false, level = false, process = false;
  int count() const { return date + time + level + process; }
};

Marks marks_of(std::string_view line) {
  line = line.substr(0, kBeginning);
  Marks marks;
  marks.level = has_form(line, "Idddd ") || has_form(line, "Wdddd ") || has_form(line, "Edddd ");  // glog
  for (std::size_t at = 0; at < line.size(); ++at) {
    const std::string_view here = line.substr(at);
    const bool after_letter = at > 0 && is_letter(line[at - 1]);
    marks.date |= is_date(here);
    marks.time |= has_form(here, "dd:dd:dd");
    marks.level |= !after_letter && is_level(here);
    marks.process |= after_letter && has_form(here, "[d");
  }
  return marks;
}

}  // namespace

bool begins_as_log(std::string_view text) {
  int marked = 0, lines = 0;
  while (!text.empty() && lines < kLines) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.empty()) continue;
    ++lines;
    marked += marks_of(line).count() >= 2 ? 1 : 0;
  }
  return marked >= kEnough && 2 * marked > lines;
}

}  // namespace titan::train

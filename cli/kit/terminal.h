#pragma once
// Capabilities of the terminal, and colours by role. The decisions are pure; *_of_process functions ask the system.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::cli {

enum class ColorChoice { kAuto, kAlways, kNever };

/// Inputs to the colour decision for one stream.
struct ColorInputs {
  ColorChoice choice = ColorChoice::kAuto;
  std::optional<std::string> no_color, clicolor_force, term;  ///< environment; nullopt = not set
  bool is_tty = false;
};

/// In order of precedence: the flag; NO_COLOR (set, not empty); CLICOLOR_FORCE (set, not 0); a TTY whose TERM is not
/// "dumb".
bool decide_color(const ColorInputs& inputs);

/// Asks environment and descriptor `fd` of this process.
bool color_of_process(int fd, ColorChoice choice);

/// True when progress may be drawn: stderr is a terminal and TERM is not "dumb".
bool progress_possible();

/// Width of the terminal on stderr in columns; else COLUMNS; else 80.
std::size_t terminal_width();

/// Height of the terminal on stdout in lines; 0 if stdout is not a terminal.
std::size_t terminal_height();

/// True if the environment asks for UTF-8: the first of LC_ALL, LC_CTYPE and LANG that is set and not empty decides.
bool utf8_of_process();

/// The meaning of a piece of text. The text itself must express it too, since colour may be off.
enum class Role { kPlain, kOk, kWarning, kError, kName, kDim };

/// Wraps text in escape sequences, or leaves it alone.
struct Palette {
  bool on = false;
  std::size_t width = 0;  ///< columns to wrap text to; 0: a pipe, no wrapping
  std::string paint(Role role, std::string_view text) const;
};

/// `line`, wrapped between words if the palette has a width. Continuation lines are indented by `indent` blanks.
std::string folded_line(const std::string& line, const Palette& palette, std::size_t indent);

/// How human-readable text is formatted.
struct TextStyle {
  Palette palette;
  bool exact_bytes = false;  ///< sizes as plain numbers
  std::int64_t now = 0;      ///< seconds since the epoch, for ages
};

}  // namespace titan::cli

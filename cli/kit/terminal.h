#pragma once
// What the terminal can do, and colour as roles. The decisions are pure; the *_of_process functions ask the system.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::cli {

enum class ColorChoice { kAuto, kAlways, kNever };

/// What decides about colour on one stream.
struct ColorInputs {
  ColorChoice choice = ColorChoice::kAuto;
  std::optional<std::string> no_color, clicolor_force, term;  ///< environment; nullopt = not set
  bool is_tty = false;
};

/// Order: the flag, NO_COLOR (set, not empty), CLICOLOR_FORCE (set, not 0), TTY whose TERM is not "dumb".
bool decide_color(const ColorInputs& inputs);

/// Asks environment and descriptor `fd` of this process.
bool color_of_process(int fd, ColorChoice choice);

/// True when progress may be drawn: stderr is a terminal and TERM is not "dumb".
bool progress_possible();

/// Columns of the terminal behind stderr, else COLUMNS, else 80.
std::size_t terminal_width();

/// Lines of the terminal behind stdout; 0 if stdout is not a terminal.
std::size_t terminal_height();

/// True if the environment asks for UTF-8: the first of LC_ALL, LC_CTYPE and LANG that is set and not empty decides.
bool utf8_of_process();

/// The meaning of a piece of text, which colour alone never carries.
enum class Role { kPlain, kOk, kWarning, kError, kName, kDim };

/// Wraps text in escape sequences, or leaves it alone.
struct Palette {
  bool on = false;
  std::size_t width = 0;  ///< columns that text is folded to; 0: a pipe, where nothing is folded
  std::string paint(Role role, std::string_view text) const;
};

/// `line`, broken between words if the palette has a width; further lines are indented by `indent` blanks.
std::string folded_line(const std::string& line, const Palette& palette, std::size_t indent);

/// How text for people is drawn.
struct TextStyle {
  Palette palette;
  bool exact_bytes = false;  ///< sizes as plain numbers
  std::int64_t now = 0;      ///< seconds since the epoch, for ages
};

}  // namespace titan::cli

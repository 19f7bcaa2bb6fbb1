#pragma once
// Capabilities of the terminal, and colours by the role of a text. decide_color() and Palette are pure; the other
// functions ask the environment and the system.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace titan::cli {

enum class ColorChoice { kAuto, kAlways, kNever };

/// What decides whether text on stdout or stderr is coloured.
struct ColorInputs {
  ColorChoice choice = ColorChoice::kAuto;
  std::optional<std::string> no_color, clicolor_force, term;  ///< environment; nullopt = not set
  bool is_tty = false;
};

/// Whether to use colour. In order of precedence: --color decides if it is always or never; a non-empty NO_COLOR means
/// no; CLICOLOR_FORCE other than "0" means yes; else a terminal whose TERM is not "dumb" means yes.
bool decide_color(const ColorInputs& inputs);

/// decide_color() for the file descriptor `fd` and the environment of this process.
bool color_of_process(int fd, ColorChoice choice);

/// True when progress may be drawn: stderr is a terminal and TERM is not "dumb".
bool progress_possible();

/// Width in columns of the terminal on stderr; without one the value of COLUMNS, else 80.
std::size_t terminal_width();

/// Height of the terminal on stdout in lines; 0 if stdout is not a terminal.
std::size_t terminal_height();

/// Whether the locale uses UTF-8: the first of LC_ALL, LC_CTYPE and LANG that is set and not empty decides.
bool utf8_of_process();

/// What a piece of text means, which decides the text's colour. The words of the text must tell the meaning too, since
/// colour may be off.
enum class Role { kPlain, kOk, kWarning, kError, kName, kDim };

/// Colours and width of the stream that text is printed to.
struct Palette {
  bool on = false;        ///< use colours
  std::size_t width = 0;  ///< wrap text at this many columns; 0: do not wrap, as for a pipe
  /// `text` in the escape sequences for its role; unchanged if colours are off.
  std::string paint(Role role, std::string_view text) const;
};

/// `line`, wrapped between words if the palette has a width. Continuation lines are indented by `indent` blanks.
std::string folded_line(const std::string& line, const Palette& palette, std::size_t indent);

/// How the text answer of a verb is formatted.
struct TextStyle {
  Palette palette;
  bool exact_bytes = false;  ///< sizes as plain numbers
  std::int64_t now = 0;      ///< present time in seconds since the epoch; ages ("5.0s") are relative to it
};

}  // namespace titan::cli

#!/usr/bin/env python3
"""make_tables.py: writes new_codes.inc and nfc_*.inc next to itself, from the Unicode Character Database.

Needs what has the database: Python 3.11 (Unicode 14.0, that of PCRE2 10.42), the package unicodedata2 16.0.0 (Unicode 16.0,
that of Oniguruma in Hugging Face's tokenizers), and perl 5.36 for the age of each code point.

    python3 -m venv V && V/bin/pip install unicodedata2==16.0.0 && V/bin/python recipe/text/tables/make_tables.py
"""
import pathlib
import subprocess
import unicodedata as old

import unicodedata2 as new

HERE = pathlib.Path(__file__).parent
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
assert old.unidata_version == "14.0.0" and new.unidata_version == "16.0.0"


def write(name, rows):
    lines, line = [], ""
    for row in rows:
        item = "{" + ", ".join(row) + "}, "
        if len(line) + len(item) > 190:
            lines.append(line.rstrip())
            line = ""
        line += item
    (HERE / name).write_text("// Made by make_tables.py.\n" + "\n".join([*lines, line.rstrip()]) + "\n")


def ranges(pairs):
    """Runs of neighbours with one value, as (first, last, value)."""
    runs = []
    for code, value in pairs:
        if runs and runs[-1][1] == code - 1 and runs[-1][2] == value:
            runs[-1][1] = code
        else:
            runs.append([code, code, value])
    return runs


# What PCRE2 10.42 takes for unassigned.
changed = [c for c in CODES if old.category(chr(c)) != new.category(chr(c)) and old.category(chr(c)) != "Cn"]
print("other categories since 14.0:", [(hex(c), old.category(chr(c)), new.category(chr(c))) for c in changed])
gaps = [(c, new.category(chr(c))) for c in CODES if old.category(chr(c)) == "Cn" != new.category(chr(c))]
write("new_codes.inc", ((hex(a), hex(b), f"'{kind[0]}'", f"'{kind[1]}'") for a, b, kind in ranges(gaps)))

# The library normalises by Unicode 9.0: what is younger stays as it is.
perl = "for (0..0x10FFFF) { next if $_ >= 0xD800 && $_ < 0xE000; print chr($_) =~ /\\p{Present_In: 9.0}/ ? 1 : 0 }"
present = {code for code, flag in zip(CODES, subprocess.run(["perl", "-e", perl], capture_output=True, text=True, check=True).stdout) if flag == "1"}
known = [c for c in CODES if c in present and not 0xAC00 <= c <= 0xD7A3]
pairs = []
for code in known:
    text = old.decomposition(chr(code))
    if text and not text.startswith("<"):
        parts = [int(part, 16) for part in text.split()]
        composes = len(parts) == 2 and old.normalize("NFC", chr(code)) == chr(code)
        pairs.append((code, parts[0], parts[1] if len(parts) == 2 else 0, composes))
write("nfc_pairs.inc", ((hex(code), hex(first), hex(second) if second else "0", "true" if composes else "false") for code, first, second, composes in pairs))
classes = [(c, old.combining(chr(c))) for c in known if old.combining(chr(c))]
write("nfc_classes.inc", ((hex(a), hex(b), str(value)) for a, b, value in ranges(classes)))
# What a text in NFC may hold and still change, or holds never: anything else stays as it is.
seconds = {second for _, _, second, composes in pairs if composes}
changes = {code for code, _, _, composes in pairs if not composes}
unsure = sorted({c for c, _ in classes} | seconds | changes | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3)))
write("nfc_unsure.inc", ((hex(a), hex(b)) for a, b, _ in ranges((c, 0) for c in unsure)))

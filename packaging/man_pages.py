#!/usr/bin/env python3
"""Man pages of a program, made from what its --help prints, which comes from the table that its parser uses.

    man_pages.py PROGRAM FOLDER    writes FOLDER/NAME.1 and FOLDER/NAME-VERB.1 for each verb
"""
import os
import re
import subprocess
import sys


def plain(text):
    """Text as troff takes it literally."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + text if text.startswith(".") else text


def help_of(program, *verb):
    environment = {"PATH": os.environ["PATH"], "NO_COLOR": "1", "COLUMNS": "1000"}
    return subprocess.run([program, *verb, "--help"], check=True, capture_output=True, text=True, env=environment).stdout


def rows_of(text, title):
    """(term, meaning) of each line below `title`; a meaning that was folded is joined again."""
    rows = []
    lines = text.split("\n")
    for line in lines[lines.index(title) + 1:] if title in lines else []:
        if not line.startswith(" "):
            break
        parts = re.split(r"\s{2,}", line.strip(), maxsplit=1)
        if len(line) - len(line.lstrip()) > 10 and rows:
            rows[-1][1] += " " + line.strip()
        else:
            rows.append([parts[0], parts[1] if len(parts) > 1 else ""])
    return rows


def rows_as_troff(title, rows):
    lines = [f".SH {title}"]
    for term, meaning in rows:
        lines += [".TP", f"\\fB{plain(term)}\\fR", plain(meaning) if meaning else "\\&"]
    return lines


def page(name, version, short, synopsis, sections):
    lines = [f'.TH "{plain(name.upper())}" 1 "" "{plain(version)}" "Titan"', ".SH NAME", f"{plain(name)} \\- {plain(short)}"]
    lines += [".SH SYNOPSIS", plain(synopsis)]
    for title, rows in sections:
        lines += rows_as_troff(title, rows) if rows else []
    return lines


def write(folder, name, lines):
    with open(os.path.join(folder, name + ".1"), "w") as file:
        file.write("\n".join(lines) + "\n")


def main(program, folder):
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):
        os.remove(os.path.join(folder, old))
    program = os.path.abspath(program)
    name = os.path.basename(program)
    version = " ".join(subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[:2])
    text = help_of(program)
    usage = next(line for line in text.split("\n") if line.startswith("usage: "))[len("usage: "):]
    short = text.split("\n")[0].split(": ", 1)[1]
    verbs = [row for row in rows_of(text, "verbs") if "not supported yet" not in row[1]]
    pages = [f"{name}-{row[0].split()[0]}" for row in verbs]
    lines = page(name, version, short, usage, [("VERBS", verbs), ("OPTIONS", rows_of(text, "flags of every verb"))])
    lines += [".SH SEE ALSO"] + [f".BR {plain(other)} (1)" for other in pages]
    write(folder, name, lines)
    for other, (arguments, meaning) in zip(pages, verbs):
        text = help_of(program, arguments.split()[0])
        usage = next(line for line in text.split("\n") if line.startswith("usage: "))[len("usage: "):]
        lines = page(other, version, meaning, usage, [("OPTIONS", rows_of(text, "flags"))])
        write(folder, other, lines + [".SH SEE ALSO", f".BR {plain(name)} (1)"])


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Runs programs where nothing of the tree is visible: in a root folder of their own."""
import os
import shutil
import subprocess
import sys


def run(*command, expect=0, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != expect:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def user_of_a_root():
    return [] if os.getuid() == 0 else ["--user", "--map-root-user"]


def may_mount():
    return subprocess.run(["unshare", *user_of_a_root(), "--mount", "true"], capture_output=True).returncode == 0


def in_root(root, *command, shown=(), env=None, **more):
    """Runs a command that sees `root` and nothing else, without rights of its own beyond that. shown: folders that it sees too, as
    (folder, its place in the root); needs may_mount()."""
    script = "set -e\nroot=$1\nshift\n"
    for folder, place in shown:
        os.makedirs(root + place, exist_ok=True)
        script += f'mount --rbind "{folder}" "$root{place}"\n'
    settings = " ".join(f"{name}={value}" for name, value in (env or {}).items())
    chroot = shutil.which("chroot", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    script += f'exec env -i {settings} {chroot} "$root" "$@"\n'
    own = [*user_of_a_root(), "--mount"] if shown else user_of_a_root()
    return run(*(["unshare", *own] if own else []), "sh", "-c", script, "sh", root, *command, **more)


def verbs_of(help_text):
    rows = help_text[help_text.index("verbs\n"):help_text.index("flags of")].split("\n")[1:]
    return [row.split()[0] for row in rows if row.startswith("  ") and not row.startswith("   ")]


def about_itself(program, name, verbs, libraries, notices):
    """program(words...) runs it: every verb's help, versions, notices."""
    found = verbs_of(program("--help"))
    assert len(found) >= verbs, found
    for verb in found:
        assert program(verb, "--help").startswith(f"usage: {name} {verb} "), verb
    lines = program("--version").split("\n")
    assert lines[0].startswith(name + " "), lines
    assert lines[1] == "checkpoint formats: reads and writes 1.0, 1.1, 1.2, 1.3", lines
    assert [word.split()[0] for word in lines[2].removeprefix("libraries: ").split(", ")] == libraries, lines
    text = program("--licenses")
    for notice in ["Apache License", "GCC RUNTIME LIBRARY EXCEPTION", "GNU LESSER GENERAL PUBLIC LICENSE", *notices]:
        assert notice in text, notice


def no_debug_information(path):
    sections = run("readelf", "-WS", path)
    assert ".text" in sections and ".debug_" not in sections and ".symtab" not in sections, path

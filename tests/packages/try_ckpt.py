#!/usr/bin/env python3
"""Makes the packages of titan-ckpt and uses each where nothing of the tree is visible: a root of its own, and a new Python environment.

    try_ckpt.py SOURCE BUILD
"""
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile


def run(*command, expect=0, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode != expect:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout


def in_root(root, *command, **more):
    """Runs a command that sees `root` and nothing else, without rights of its own beyond that."""
    chroot = shutil.which("chroot", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    user = [] if os.getuid() == 0 else ["unshare", "--user", "--map-root-user"]
    return run(*user, chroot, root, *command, env={}, **more)


def use(program):
    """program(words...) runs titan-ckpt: every verb's help, and checkpoints verified, whole and damaged."""
    text = program("--help")
    rows = text[text.index("verbs\n"):text.index("flags of")].split("\n")[1:]
    verbs = [row.split()[0] for row in rows if row.startswith("  ") and "not supported yet" not in row]
    assert len(verbs) >= 11, verbs
    for verb in verbs:
        assert program(verb, "--help").startswith(f"usage: titan-ckpt {verb} "), verb
    assert program("verify", "/golden").startswith("ok "), "verify"
    program("verify", "/damaged", expect=1)


def checkpoints(source, root):
    """A whole checkpoint at /golden, and one with a flipped byte at /damaged."""
    for name in ("golden", "damaged"):
        shutil.copytree(os.path.join(source, "tests/golden/format-1/step-00000012"), os.path.join(root, name))
    path = os.path.join(root, "damaged/model/shard-00000.h5")
    os.chmod(path, 0o644)
    with open(path, "r+b") as file:
        file.seek(os.path.getsize(path) // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))


def man_pages(folder):
    pages = sorted(glob.glob(os.path.join(folder, "share/man/man1/*.1*")))
    assert len(pages) >= 12, pages
    for page in pages if shutil.which("man") else []:
        done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, f"{page}: {done.stderr}"


def main(source, build):
    with tempfile.TemporaryDirectory(prefix="titan-packages-") as folder:
        out = os.path.join(folder, "dist")
        script = os.path.join(source, "scripts/package")
        print(run(script, "--build", build, "--out", out), end="")
        sums = {line.split()[1]: line.split()[0] for line in open(os.path.join(out, "SHA256SUMS"))}
        assert len(sums) == 3, sums
        for name, sum in sums.items():
            assert hashlib.sha256(open(os.path.join(out, name), "rb").read()).hexdigest() == sum, name

        root = os.path.join(folder, "tarball")
        os.mkdir(root)
        run("tar", "-xzf", glob.glob(out + "/*.tar.gz")[0], "-C", root, "--strip-components=1")
        checkpoints(source, root)
        man_pages(root)
        for needed in ("share/doc/titan-ckpt/LICENSE", "share/doc/titan-ckpt/libhdf5-dev.copyright", "share/bash-completion/completions/titan-ckpt"):
            assert os.path.getsize(os.path.join(root, needed)) > 0, needed
        use(lambda *words, **more: in_root(root, "/bin/titan-ckpt", *words, **more))
        print("tarball  works")

        root = os.path.join(folder, "deb")
        os.mkdir(root)
        if shutil.which("dpkg-deb"):
            run("dpkg-deb", "-x", glob.glob(out + "/*.deb")[0], root)
            checkpoints(source, root)
            use(lambda *words, **more: in_root(root, "/usr/bin/titan-ckpt", *words, **more))
            print("deb      works")

        venv = os.path.join(folder, "venv")
        wheel = glob.glob(out + "/*.whl")[0]
        assert os.path.getsize(wheel) <= 6_000_000, os.path.getsize(wheel)
        run(sys.executable, "-m", "venv", venv)
        run(venv + "/bin/pip", "install", "--disable-pip-version-check", "--no-index", wheel)
        data = os.path.join(folder, "tarball")

        def installed(*words, **more):
            words = [data + word if word.startswith("/") else word for word in words]
            return run("titan-ckpt", *words, cwd="/", env={"PATH": venv + "/bin"}, **more)
        use(installed)
        print("wheel    works")

        sums_before = {name: sum for name, sum in sums.items() if not name.endswith(".deb")}
        run(script, "--build", build, "--out", out)
        again = {line.split()[1]: line.split()[0] for line in open(os.path.join(out, "SHA256SUMS"))}
        assert sums_before == {name: again[name] for name in sums_before}, "a second call makes other bytes"
        print("a second call makes the same bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])

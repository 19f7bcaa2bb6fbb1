#!/usr/bin/env python3
"""titan-ckpt as another user than root, who reads a checkpoint that is not his: hard links are refused to him (fs.protected_hardlinks),
members are read-only for everybody, and deleting works all the same. Where no other user can be made, a SKIP line says why."""
import argparse
import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


def run(command, expect=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd="/")
    if done.returncode != expect:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}, expected {expect}\n{done.stdout}{done.stderr}")
    return done.stdout


def refused(command, *texts):
    """Expects exit code 3 and one error that says all of `texts`."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd="/")
    if done.returncode != 3 or done.stderr.count("error: ") != 1 or not all(text in done.stderr for text in texts):
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}, expected 3 and {texts}\n{done.stdout}{done.stderr}")


def modes(checkpoint):
    return {str(p.relative_to(checkpoint)): stat.S_IMODE(p.lstat().st_mode) for p in checkpoint.rglob("*") if p.is_file()}


def check(true, what):
    if not true:
        sys.exit(f"failed: {what}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    bin_folder = parser.parse_args().bin
    try:
        probe = subprocess.run([*AS_NOBODY, "true"], capture_output=True, text=True)
    except OSError as error:
        print(f"SKIP: setpriv: {error}")
        return
    if probe.returncode != 0:
        print(f"SKIP: {' '.join(AS_NOBODY)}: {probe.stderr.strip()}")
        return
    os.umask(0o022)
    work = pathlib.Path(tempfile.mkdtemp(prefix="titan-user-"))
    try:
        work.chmod(0o755)
        titan, make = work / "titan-ckpt", work / "make"
        shutil.copy(bin_folder / "titan-ckpt", titan)  # where anybody can reach it
        shutil.copy(bin_folder / "titan-make-checkpoint", make)
        mine, his = work / "mine", work / "his"
        his.mkdir()
        os.chown(his, NOBODY, NOBODY)
        for step in (10, 20):
            run([make, mine / "checkpoint", f"step={step}", "dp=2"])
            run([*AS_NOBODY, make, his / "checkpoint", f"step={step}", "dp=2"])
        source = mine / "checkpoint" / "step-00000010"
        for checkpoint in (source, his / "checkpoint" / "step-00000010"):
            found = modes(checkpoint)
            check("manifest.json" in found and "model/model.h5" in found and "train_state.json" in found, "all kinds of members were made")
            check(set(found.values()) == {0o444}, f"every member is read-only: {found}")
        before = modes(source)

        # Nobody can write into a member, not even into his own; h5py would say the same.
        for member in ("model/shard-00000.h5", "manifest.json"):
            path = his / "checkpoint" / "step-00000010" / member
            done = subprocess.run([*AS_NOBODY, "sh", "-c", f"echo x >> {path}"], capture_output=True, text=True)
            check(done.returncode != 0 and "ermission denied" in done.stderr, f"writing into {member} is refused: {done.stderr}")

        # Another's files cannot be hard-linked where the kernel protects them; then they are copied, and the report says so.
        protected = pathlib.Path("/proc/sys/fs/protected_hardlinks")
        if protected.exists() and protected.read_text().strip() == "1":
            text = run([*AS_NOBODY, titan, "strip", source, his / "light"])
            check("no hard link: Operation not permitted" in text and "not verified" in text, f"the copy and its reason are said: {text}")
        else:
            print("SKIP: fs.protected_hardlinks is not 1 here: another user's files may be hard-linked")
            run([*AS_NOBODY, titan, "strip", source, his / "light"])
        run([*AS_NOBODY, titan, "verify", his / "light"])
        check(set(modes(his / "light").values()) == {0o444}, "copies are read-only, too")
        check(modes(source) == before, "the source is as it was")

        # What is his own he may link.
        report = json.loads(run([*AS_NOBODY, titan, "strip", his / "checkpoint" / "step-00000010", his / "linked", "--verify", "--json"]))
        check({file["method"] for file in report["files"]} == {"hard link"} and report["verified"] is True, f"own files are hard links: {report}")

        # Read-only members can be replaced and deleted by whoever may write the folders.
        run([*AS_NOBODY, titan, "strip", source, his / "light", "--force"])
        run([*AS_NOBODY, titan, "reshard", his / "checkpoint" / "step-00000010", his / "reshaped", "--dp", "1", "--pp", "1"])
        run([*AS_NOBODY, titan, "prune", his, "--keep-last", "1"])
        check(sorted(p.name for p in (his / "checkpoint").iterdir() if p.name.startswith("step-")) == ["step-00000020"], "prune deleted the older step")
        run([*AS_NOBODY, "rm", "-rf", his / "light"])
        check(not (his / "light").exists(), "rm -rf deletes a checkpoint")

        # A checkpoint that he may not read is a failure (3), and no damage.
        (source / "model").chmod(0o700)
        refused([*AS_NOBODY, titan, "verify", source], f"hint: the folder {source}/model belongs to root (uid 0), mode rwx------: user nobody (uid 65534) may not pass through it")
        (source / "model").chmod(0o755)

        # Where he may not write, the error is about what he typed, and says whose the folder is.
        theirs = work / "theirs"
        theirs.mkdir()
        may_not = f"hint: the folder {theirs} belongs to root (uid 0), mode rwxr-xr-x: user nobody (uid 65534) may not make or remove anything in it"
        refused([*AS_NOBODY, titan, "reshard", source, theirs / "z", "--dp", "1", "--pp", "1"], f"error: {theirs}/z cannot be made\n", may_not)
        refused([*AS_NOBODY, titan, "reshard", source, theirs / "z", "--dp", "1", "--pp", "1", "--dry-run"], f"error: {theirs}/z cannot be made\n", may_not)
        refused([*AS_NOBODY, titan, "convert", source, theirs / "z", "--to", "dcp", "--skip", "optimizer.*", "--dry-run"], f"error: {theirs}/z cannot be made\n", may_not)
        refused([*AS_NOBODY, titan, "cat", source, "tok_embeddings.weight", "-o", theirs / "x.npy"], f"error: {theirs}/x.npy cannot be made\n", may_not)
        check(not list(theirs.iterdir()), "nothing is left there")
        refused([*AS_NOBODY, titan, "prune", mine, "--keep-last", "1"], f"error: the folder {mine} cannot be locked\n", f"hint: the folder {mine} belongs to root (uid 0)")
        (mine / "run.lock").write_text("")
        refused([*AS_NOBODY, titan, "prune", mine, "--keep-last", "1"], f"hint: the file {mine}/run.lock belongs to root (uid 0), mode rw-r--r--: user nobody (uid 65534) may not write it")
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()

"""What lies in a folder of steps, seen without the programs under test."""

import dataclasses
import hashlib
import json
import os
import pathlib
import re

STEP = re.compile(r"step-(\d{8,})$")
TEMPORARY = re.compile(r"step-\d{8,}\.tmp-|\.trash-")
ASIDE = re.compile(r"\.damaged-step-(\d{8,})-.+$")


def step_name(step):
    return f"step-{step:08d}"


def content_of(folder):
    """Digest of all names and bytes below, but for pins."""
    total = hashlib.sha256()
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.is_file() and path.name != ".keep":
            data = path.read_bytes()
            total.update(f"{path.relative_to(folder)}\0{len(data)}\0".encode() + data)
    return total.hexdigest()[:16]


def manifest_id(folder):
    try:
        return json.loads((pathlib.Path(folder) / "manifest.json").read_text())["id"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclasses.dataclass(frozen=True)
class Step:
    step: int
    path: str
    content: str
    id: str | None
    pinned: bool
    link: str | None = None  # where it leads


def look_at(path, step):
    path = pathlib.Path(path)
    link = os.path.realpath(path) if path.is_symlink() else None
    return Step(step, str(path), content_of(path), manifest_id(path), (path / ".keep").exists(), link)


@dataclasses.dataclass
class View:
    """The folder at one moment."""

    steps: dict  # number -> Step
    moved: dict  # number -> Step in step-N.tmp-rewrite/old, which the next actor has to put back
    aside: dict  # name of a .damaged-step-* -> Step
    temporary: list
    others: dict  # name -> digest of what we or a tool put there beside the steps


def view(checkpoint):
    seen = View({}, {}, {}, [], {})
    checkpoint = pathlib.Path(checkpoint)
    if not checkpoint.exists():
        return seen
    for path in sorted(checkpoint.iterdir()):
        if found := STEP.fullmatch(path.name):
            if path.is_dir():
                seen.steps[int(found.group(1))] = look_at(path, int(found.group(1)))
        elif found := ASIDE.fullmatch(path.name):
            seen.aside[path.name] = look_at(path, int(found.group(1)))
        elif TEMPORARY.match(path.name) or path.name == "latest.tmp":
            seen.temporary.append(path.name)
            if path.name.endswith(".tmp-rewrite") and (path / "old").is_dir():
                step = int(path.name[5:].split(".")[0])
                seen.moved[step] = look_at(path / "old", step)
        elif path.name not in ("latest", "run.lock") and path.is_dir():
            seen.others[path.name] = content_of(path)
    for step in list(seen.moved):
        if step in seen.steps:
            del seen.moved[step]  # what lies aside was replaced
    return seen

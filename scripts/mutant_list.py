"""The mutants of a tree: their files, which of them concern a change, and how long their tests take."""

import fnmatch
import json
import subprocess
import tomllib

STAGES = "tests/mutant_stages.toml"
FILES = "tests/**/mutants.toml"
NEEDED = {"id", "file", "old", "new", "what", "stages"}
FIELDS = NEEDED | {"filter", "equivalent"}


class Usage(Exception):
    """Something that the caller must mend first."""


def read(path, table):
    """The one table that a file may have."""
    try:
        listed = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise Usage(f"{path}: {error}") from error
    if set(listed) != {table}:
        raise Usage(f"{path}: has {sorted(listed)}, expected [{table}] alone")
    return listed[table]


def load(tree):
    """(stages, mutants) of a tree, in the order of the files' paths. A mutant's "area" is the folder of its list."""
    stages, mutants, places = read(tree / STAGES, "stage"), [], {}
    for path in sorted(tree.glob(FILES)):
        place = path.relative_to(tree).as_posix()
        for mutant in read(path, "mutant"):
            name = mutant.get("id", "one without an id")
            if lacking := NEEDED - mutant.keys():
                raise Usage(f"{place}: {name} lacks {sorted(lacking)}")
            if strange := mutant.keys() - FIELDS:
                raise Usage(f"{place}: {name} has unknown fields: {sorted(strange)}")
            if name in places:
                raise Usage(f"{name} is there twice: in {places[name]} and in {place}")
            if mutant["old"] == mutant["new"] or not mutant["old"]:
                raise Usage(f"{place}: {name} changes nothing")
            if unknown := set(mutant["stages"]) - stages.keys():
                raise Usage(f"{place}: {name} names stages that are not in {STAGES}: {sorted(unknown)}")
            if not mutant["stages"]:
                raise Usage(f"{place}: {name} names no stage")
            places[name] = place
            mutants.append({**mutant, "area": path.parent.relative_to(tree / "tests").as_posix()})
    if not mutants:
        raise Usage(f"no mutant in {tree}/{FILES}")
    return stages, mutants


def chosen(mutants, ids, areas, first):
    """Those whose id fits one of `ids`, in one of the folders `areas` or below it, from `first` on; no list: all."""
    areas = [area.removeprefix("tests/").rstrip("/") for area in areas]

    def within(mutant, area):
        return f"{mutant['area']}/".startswith(f"{area}/")

    unknown = [pattern for pattern in ids if not any(fnmatch.fnmatchcase(m["id"], pattern) for m in mutants)]
    unknown += [area for area in areas if not any(within(m, area) for m in mutants)]
    names = [m["id"] for m in mutants]
    unknown += [first] if first and first not in names else []
    if unknown:
        raise Usage(f"no mutant has this id or area: {', '.join(sorted(unknown))}")
    return [m for m in mutants[names.index(first) if first else 0:]
            if (not ids or any(fnmatch.fnmatchcase(m["id"], pattern) for pattern in ids))
            and (not areas or any(within(m, area) for area in areas))]


def occurrences(tree, mutant):
    path = tree / mutant["file"]
    return path.read_text(encoding="utf-8").count(mutant["old"]) if path.is_file() else 0


def git(tree, *arguments):
    """The output of git, or None where it fails."""
    try:
        done = subprocess.run(["git", "-C", tree, *arguments], capture_output=True, text=True)
    except OSError as error:
        raise Usage(f"git does not run: {error}") from error
    return done.stdout if done.returncode == 0 else None


def base_revision(tree):
    """HEAD where the working tree differs from it, else where the branch left origin's main, else the commit before."""
    head = git(tree, "rev-parse", "HEAD")
    if head is None:
        raise Usage(f"{tree} is no git checkout with a commit: --changed finds nothing there")
    if git(tree, "diff", "--quiet", "HEAD", "--") is None:
        return "HEAD"
    base = git(tree, "merge-base", "HEAD", "origin/main")
    return base.strip() if base and base != head else "HEAD~1"


def changed_files(tree, revision):
    """Paths that differ between a revision and the working tree, those that git does not know yet among them."""
    differing = git(tree, "diff", "--name-only", "--no-renames", "--relative", "-z", revision, "--")
    added = git(tree, "ls-files", "--others", "--exclude-standard", "-z")
    if differing is None or added is None:
        raise Usage(f"git knows no revision {revision} in {tree}")
    return set((differing + added).split("\0"))


def tests_of(stages, stage, mutant):
    """The filter of a mutant in a stage; "*" where the stage has none."""
    return mutant.get("filter", "*") if "{filter}" in stages[stage]["command"] else "*"


class Times:
    """Seconds that the tests of a stage took when last they passed, kept in a file of the build folder."""

    def __init__(self, path, stages):
        self.path, self.stages = path, stages
        try:
            self.seconds = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            self.seconds = {}

    def note(self, stage, only, seconds):
        self.seconds.setdefault(stage, {})[only] = round(seconds, 2)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.seconds, indent=1, sort_keys=True), encoding="utf-8")
        part.rename(self.path)

    def of(self, mutant):
        """Of all stages of a mutant; of a stage that was never measured its timeout."""
        total = 0
        for stage in mutant["stages"]:
            known, only = self.seconds.get(stage, {}), tests_of(self.stages, stage, mutant)
            total += known.get(only, known.get("*", self.stages[stage]["timeout"]))
        return total

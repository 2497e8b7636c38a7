#!/usr/bin/env python3
"""test/structure.py [--write]: checks what the rooms of the house include, and that no files depend on each other in a
circle, a header and its source taken as one. docs/design.md shows the rooms and their arrows; --write brings that picture
up to date. Reports in TAP.
"""
import json
import pathlib
import re
import sys

top = pathlib.Path(__file__).resolve().parent.parent
design = top / "docs/design.md"
BEGIN, END = "<!-- rooms: test/structure.py --write -->\n```\n", "```\n<!-- end of rooms -->\n"

# What each room may include, beside its own files.
ROOMS = {
    "src/pg/planner": {"src/pg", "src/wire"},
    "src/pg/executor": {"src/pg", "src/pg/client", "src/wire"},
    "src/pg/client": {"src/pg", "src/wire", "src/fault"},
    "src/pg": {"src/pg/client", "src/wire", "src/fault"},
    "src/server": {"cuda", "src/engine", "src/engine/kept", "src/engine/replicated", "src/wire", "src/fault"},
    "cuda": {"src/engine", "src/engine/fragment", "src/engine/kept", "src/wire", "src/fault"},
    "src/engine/fragment": {"src/engine", "src/engine/cpu", "src/wire"},
    "src/engine/kept": {"src/engine", "src/engine/cpu", "src/wire"},
    "src/engine/replicated": {"src/engine", "src/engine/kept", "src/wire"},
    "src/engine/cpu": {"src/engine", "src/wire", "src/fault"},
    "src/engine": {"src/wire"},
    "src/wire": set(),
    "src/fault": set(),
}
# Headers of others, by name, that belong to some rooms alone.
POSTGRES = {"src/pg", "src/pg/planner", "src/pg/executor", "src/pg/client"}
OTHERS = {r"postgres\.h$": POSTGRES, r"(cuda|cub/|thrust/)": {"cuda"}, r"(tbb|oneapi)/": {"src/engine/cpu"}}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.M)
# A switch over JoinKind has all of them, so that the compiler tells of one that is missing.
KIND_LEFT_OPEN = re.compile(r"case JoinKind::(?:(?!\n {0,4}}).)*?\n *default:", re.S)
ALLOCATES = re.compile(r"\b(palloc|MemoryContextAlloc)\w*\(")


def name(path):
    return str(path.relative_to(top))


def room_of(path):
    """The room that a file of the folder belongs to: rooms may have folders of their own, a concept each."""
    while path != top:
        if name(path) in ROOMS:
            return name(path)
        path = path.parent
    return None


def concepts(engine):
    """The folders of an engine; what fragments and kept rows need of host memory lies beside the CPU engine."""
    return {path.name for path in (top / engine).iterdir() if path.is_dir()} | {"fragment", "kept"}


def own_file(include):
    """The file of the project that is meant, if it is one."""
    return next((base / include for base in (top / "src", top) if (base / include).is_file()), None)


class House:
    def __init__(self):
        self.problems = []
        self.arrows = {room: set() for room in ROOMS}
        self.uses = {}  # unit (a header and its source): the units that it includes
        self.includes = {}  # file: the files of the project that it includes
        for folder in "src", "cuda":
            for file in sorted((top / folder).rglob("*")):
                if file.suffix in (".h", ".cpp", ".cu", ".cuh"):
                    self.read(file)

    def read(self, file):
        room = room_of(file.parent)
        if not room:
            self.problems.append(f"{name(file)} is in no room")
            return
        text = file.read_text()
        unit = self.uses.setdefault(name(file.with_suffix("")), set())
        for include in INCLUDE.findall(text):
            if own := own_file(include):
                self.includes.setdefault(file, set()).add(own)
                self.note_arrow(file, room, room_of(own.parent))
                if (other := name(own.with_suffix(""))) != name(file.with_suffix("")):
                    unit.add(other)
            for pattern, rooms in OTHERS.items():
                if not own and re.match(pattern, include) and room not in rooms:
                    self.problems.append(f"{name(file)} includes {include}")

        if "PG_VERSION_NUM" in text and name(file) != "src/pg/compat.h":
            self.problems.append(f"{name(file)} asks for PostgreSQL's version")
        if room in POSTGRES and ALLOCATES.search(text) and name(file) != "src/pg/allocate.h":
            self.problems.append(f"{name(file)} allocates past src/pg/allocate.h")
        if KIND_LEFT_OPEN.search(text):
            self.problems.append(f"{name(file)} has a default where it tells kinds of joins apart")
        if "GPUJOIN_CUDA" in text and file.suffix == ".h":
            self.problems.append(f"{name(file)} asks for CUDA, of which the Makefile tells sources alone")

    def note_arrow(self, file, room, other):
        if other == room:
            return
        self.arrows[room].add(other)
        if other not in ROOMS[room]:
            self.problems.append(f"{name(file)} reaches into {other}")

    def circles(self):
        """Units that reach themselves, found by leaving out whatever reaches no further or is not reached."""
        left = {unit: set(used) for unit, used in self.uses.items()}
        while True:
            reached = set().union(*left.values())
            ends = [unit for unit, used in left.items() if not used & left.keys() or unit not in reached]
            if not ends:
                break
            for unit in ends:
                del left[unit]
        return [f"{unit} includes {', '.join(sorted(used & left.keys()))}" for unit, used in left.items()]

    def hidden_faults(self):
        """Sources into which only a header brings injected faults: the Makefile gives FAULTS to those that name them."""
        faults, hidden = top / "src/fault/fault.h", []
        for file in self.includes:
            found, ahead = set(), [file]
            while ahead:
                new = self.includes.get(ahead.pop(), set()) - found
                found |= new
                ahead += new
            if file.suffix == ".cpp" and faults in found - self.includes[file]:
                hidden.append(f"{name(file)} includes src/fault/fault.h by way of a header only")
        return hidden

    def picture(self):
        return "".join(f"{room:21} ──► {'  '.join(sorted(self.arrows[room])) or '(the C++ standard library)'}\n"
                       for room in ROOMS)


def messages_mistaken():
    """The fake server of the TAP tests numbers messages by their places in a list: that of the server."""
    server = re.search(r"enum class MessageType[^{]*{(.*?)}", (top / "src/wire/message.h").read_text(), re.S).group(1)
    fake = re.search(r"^\((HELLO.*?)\) = range", (top / "test/tap/fake_server.py").read_text(), re.S | re.M).group(1)
    right = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", word).upper() for word in re.findall(r"[A-Z]\w+", server)]
    return [] if right == re.findall(r"\w+", fake) else [f"test/tap/fake_server.py has other messages than {', '.join(right)}"]


def pages_too_long():
    """What a user is told of performance is a page; tables in full are in docs/measurements. What README has grown too long for has
    a page of its own."""
    size = (top / "docs/performance.md").stat().st_size
    lines = len((top / "README.md").read_text().splitlines())
    return ([f"docs/performance.md has {size} bytes, more than 10 KB"] if size > 10 << 10 else []) + (
        [f"README.md has {lines} lines, more than 400"] if lines > 400 else [])


def links_to_nowhere():
    """Links between documents name files that are there, and headings by the words that make their anchors."""
    pages = {page: re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.S | re.M)
             for page in (*top.glob("*.md"), *top.glob("docs/**/*.md"))}

    def anchors(page):
        return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")
                for heading in re.findall(r"^#+ (.*)$", pages[page], re.M)}

    problems = []
    for page, text in pages.items():
        for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or anchor and anchor not in anchors(target):
                problems.append(f"{name(page)} has a link to {link}, which is not there")
    return problems


def versions_apart():
    """What says which version this is says the same, and scripts lead to it."""
    def found(file, pattern):
        return re.findall(pattern, (top / file).read_text(), re.M)

    version = found("gpujoin.control", r"^default_version = '(.*)'")[0]
    meta = json.loads((top / "META.json").read_text())
    provided = meta["provides"]["gpujoin"]
    said = {"META.json": [meta["version"], provided["version"]],
            "debian/changelog": found("debian/changelog", r"^gpujoin \(([^~)]*)")[:1],
            "CHANGELOG.md": found("CHANGELOG.md", r"^## (\S+)")[:1]}
    problems = [f"{file} says {', '.join(says)}, gpujoin.control {version}" for file, says in said.items()
                if set(says) != {version}]
    script = provided["file"]
    if not script.endswith(f"-{version}.sql") or not (top / script).is_file():
        problems.append(f"META.json names {script}")
    return problems


SEMANTIC = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-+][0-9A-Za-z.-]+)?"
# The PGXN Meta Spec, version 1.0.0: what each key holds.
LICENCES = {"agpl_3", "apache_1_1", "apache_2_0", "artistic_1", "artistic_2", "bsd", "freebsd", "gfdl_1_2", "gfdl_1_3", "gpl_1", "gpl_2",
            "gpl_3", "lgpl_2_1", "lgpl_3_0", "mit", "mozilla_1_0", "mozilla_1_1", "openssl", "perl_5", "postgresql", "qpl_1_0", "ssleay",
            "sun", "zlib", "open_source", "restricted", "unrestricted", "unknown"}
REQUIRED = {"name", "version", "abstract", "maintainer", "license", "provides", "meta-spec"}
OPTIONAL = {"description", "generated_by", "tags", "no_index", "prereqs", "release_status", "resources"}


def is_text(value):
    return isinstance(value, str) and value != ""


def are_texts(value):
    return is_text(value) or isinstance(value, list) and value != [] and all(map(is_text, value))


def is_term(value):
    return is_text(value) and re.fullmatch(r"[^\s/\\\x00-\x1f]{2,}", value) is not None


def meta_mistaken(meta, exists):
    """What the PGXN Meta Spec does not allow in META.json; exists: whether there is a file of that name."""
    problems = [f"{key} is missing" for key in sorted(REQUIRED - meta.keys())]
    problems += [f"{key} is no key" for key in sorted(meta.keys() - REQUIRED - OPTIONAL) if not key.lower().startswith("x_")]

    def want(right, what):
        if not right:
            problems.append(f"{what} is not as it must be")

    want(is_term(meta.get("name")), "name")
    want(re.fullmatch(SEMANTIC, str(meta.get("version"))), "version")
    want(is_text(meta.get("abstract")), "abstract")
    want(are_texts(meta.get("maintainer")), "maintainer")
    licences = meta.get("license")
    if isinstance(licences, dict):
        want(licences and all(is_term(name) and str(url).startswith("http") for name, url in licences.items()), "license")
    else:
        want(are_texts(licences) and set([licences] if is_text(licences) else licences) <= LICENCES, "license")
    want(meta.get("meta-spec", {}).get("version") == "1.0.0", "meta-spec")
    want(meta.get("release_status", "stable") in ("stable", "testing", "unstable"), "release_status")
    for key in "description", "generated_by":
        want(is_text(meta.get(key, "-")), key)
    want(all(is_text(tag) and len(tag) <= 255 and re.fullmatch(r"[^/\\\x00-\x1f]+", tag) for tag in meta.get("tags", ["-"])), "tags")
    want(meta.get("provides"), "provides")
    for name, provided in meta.get("provides", {}).items():
        want(is_term(name) and provided.keys() <= {"file", "version", "abstract", "docfile"}, f"provides.{name}")
        want(re.fullmatch(SEMANTIC, str(provided.get("version"))), f"provides.{name}.version")
        want(exists(str(provided.get("file"))), f"provides.{name}.file")
        want(exists(provided.get("docfile", "META.json")), f"provides.{name}.docfile")
    for phase, relations in meta.get("prereqs", {}).items():
        want(phase in ("configure", "build", "test", "runtime", "develop"), f"prereqs.{phase}")
        for relation, needed in relations.items():
            want(relation in ("requires", "recommends", "suggests", "conflicts"), f"prereqs.{phase}.{relation}")
            for name, versions in needed.items():
                parts = re.split(r"\s*,\s*", str(versions))
                want(is_term(name) and (versions == 0 or all(re.fullmatch(rf"((==|!=|<=?|>=?)\s*)?{SEMANTIC}", part) for part in parts)),
                     f"prereqs.{phase}.{relation}.{name}")
    return problems


def meta_problems():
    """Of META.json; and whether mistakes in it would be found."""
    text = (top / "META.json").read_text()
    exists = lambda name: (top / name).is_file()
    problems = [f"META.json: {problem}" for problem in meta_mistaken(json.loads(text), exists)]
    for right, wrong in (('"postgresql"', '"ours"'), ('"15.0.0"', '"15"'), ('"abstract"', '"summary"'), ("README.md", "README"),
                         ('"runtime"', '"use"'), ('"join", ', '"/", '), ('"1.0.0"', '"2.0.0"')):
        if right not in text or not meta_mistaken(json.loads(text.replace(right, wrong)), exists):
            problems.append(f"{wrong} instead of {right} in META.json is not found")
    return problems


INSTALL = "apt-get install -y --no-install-recommends"


def images_mistaken():
    """What would keep the Dockerfiles from being built, as far as that shows without building them."""
    problems, finals = [], {}
    for file in sorted((top / "docker").glob("Dockerfile*")):
        lines = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", file.read_text(), flags=re.M)).splitlines()
        steps = [line.split(maxsplit=1) for line in lines if line]
        stages = [words.split(" AS ")[1] for step, words in steps if step == "FROM" and " AS " in words]
        known = {"PG_MAJOR"} | {words.split("=")[0] for step, words in steps if step == "ARG"}
        for step, words in steps:
            problem = None
            if step not in ("ARG", "FROM", "RUN", "WORKDIR", "COPY", "ENV"):
                problem = "a step that is not known here"
            elif step != "RUN" and not set(re.findall(r"\$(\w+)", words)) <= known:
                problem = "a variable that is not declared"
            elif step == "COPY" and words.startswith("--from="):
                problem = None if words.split()[0][7:] in stages else "a stage that is not there"
            elif step == "COPY" and not (top / words.split()[0]).exists():
                problem = "a file that is not there"
            elif step == "RUN" and "apt-get install" in words and f"apt-get update && {INSTALL} " not in words:
                problem = "packages that are installed in another way"
            if problem:
                problems.append(f"{name(file)} has {problem}: {step} {words}")
        last = max(number for number, (step, _) in enumerate(steps) if step == "FROM")
        finals[name(file)] = [words for step, words in steps[last:] if step != "ENV"]
        if not any("rm -rf /var/lib/apt/lists" in words for words in finals[name(file)]):
            problems.append(f"{name(file)} leaves apt's lists in the image")
    if len(finals) != 2 or len(set(map(str, finals.values()))) != 1:
        problems.append("the images of docker/ differ in more than the engine")
    return problems


def main():
    house = House()
    text = design.read_text()
    before, rest = text.split(BEGIN)
    picture, after = rest.split(END)
    if sys.argv[1:] == ["--write"]:
        design.write_text(before + BEGIN + house.picture() + END + after)
        return 0
    checks = (("rooms include what they may", house.problems), ("no files include each other in a circle", house.circles()),
              ("both engines have the same folders",
               [f"cuda or src/engine/cpu lacks {concept}" for concept in sorted(concepts("cuda") ^ concepts("src/engine/cpu"))]),
              ("sources that know of injected faults say so", house.hidden_faults()),
              ("tests know the messages by their numbers", messages_mistaken()),
              ("all agree on the version", versions_apart()), ("pages are short", pages_too_long()),
              ("links between documents lead somewhere", links_to_nowhere()),
              ("META.json is as PGXN wants it", meta_problems()),
              ("Dockerfiles can be built", images_mistaken()),
              ("the picture in docs/design.md is true", [] if picture == house.picture() else ["run test/structure.py --write"]))
    for number, (text, problems) in enumerate(checks, 1):
        print(f"{'not ' if problems else ''}ok {number} - {text}")
        for problem in problems:
            print(f"# {problem}")
    print(f"1..{len(checks)}")
    return any(problems for _, problems in checks)


sys.exit(main())

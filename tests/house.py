#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks that the source tree keeps its own rules: house.py [SOURCE_ROOT].

The script prints one TAP line for each rule. Before a line that fails, it prints each place that breaks
the rule. DESIGN.md and CONTRIBUTING.md state the rules. No build is needed.

A rule that cannot hold yet has its known breaches in tests/house-known.txt, one a line: the rule's name
and the breach's. That list only ever shrinks.
"""
import collections
import functools
import os
import re
import shutil
import subprocess
import sys

Breach = collections.namedtuple("Breach", "name message")

ROOMS = ("app", "cluster", "compute", "dataset", "kernels", "render", "tests", "ui")
COLUMNS = 100
PARAMETERS = 7
WORDS = 25
WALK = 20

# What each room may include of the others. "compute" stands for every folder below it as well.
MAY_INCLUDE = {
    "app": ("ui", "cluster", "compute", "dataset"),
    "ui": ("render", "cluster", "compute", "dataset"),
    "cluster": ("compute", "dataset"),
    "compute": ("dataset",),
    "dataset": (),
    "render": (),
    "kernels": (),
}
# Single headers that one folder may include although its room may not.
MAY_INCLUDE_HEADER = {
    "compute": ("kernels/params.h",),
    "compute/device": ("kernels/source.h",),
}

# The storeys of compute, from the ground up. A folder includes folders of lower storeys, never one of
# its own storey or above.
STOREYS = (
    ("compute/device",),
    ("compute",),
    ("compute/parallel", "compute/cone", "compute/prepare"),
    ("compute/iterative", "compute/prepare/rings"),
    ("compute/axis",),
    ("compute/recipe",),
    ("compute/engine",),
    ("compute/engine/fbp", "compute/engine/fdk", "compute/engine/iterative"),
    ("compute/methods",),
    ("compute/bench", "compute/lab"),
)
STOREY = {folder: storey for storey, folders in enumerate(STOREYS) for folder in folders}

# Folders in which no two units (a source and its headers) include one another, however indirectly.
NO_UNIT_CIRCLES = ("compute/engine/",)

# System headers, and the files that may include them (a pattern for the path).
WALLS = (
    ("GTK", r"(gtk|gdk|gsk|adwaita)\b.*", r"ui/|app/(?!cli|worker)|tests/ui/"),
    ("OpenGL", r"epoxy/.*|GL/.*|EGL/.*", r"render/|tests/ui/"),
    ("MPI", r"mpi\.h", r"cluster/|tests/cluster/test-(benchmark|gather|reduce|watch)\.c|tests/faults/stop-at\.c"),
    ("OpenCL", r"CL/.*|(clFFT|vkFFT)\.h", r"compute/device/|tests/faults/(fail-at|test-opencl)\.c"),
    ("CUDA", r"(cuda|nvrtc|cufft)\w*\.h", r"compute/device/|tests/gpu/test-cuda-layout\.c"),
    ("libtiff", r"tiffio\.h", r"dataset/|tests/"),
    ("HDF5", r"hdf5(_hl)?\.h", r"dataset/|tests/"),
)

# Headers that a build reads once for many files (pch/): a file that lacks one is not noticed there.
PRECOMPILED = {
    "string.h": r"str(len|n?cmp|n?cpy|r?chr|str|n?dup|c?spn|pbrk|error|tok_r)|mem(cpy|set|n?cmp|move|chr|mem)",
    "math.h": r"(sqrt|fabs|floor|ceil|round|trunc|exp|expm1|log|log2|log10|log1p|pow|sin|cos|tan|a(sin|cos|tan)|atan2"
              r"|hypot|fmod|remainder|cbrt|erfc?|l?l?rint|l?l?round|ldexp|frexp|scalbn)f?|is(nan|inf|finite)|signbit",
    "json-glib/json-glib.h": r"json_\w+",
    "adwaita.h": r"adw_\w+",
}

# Functions of the program that only tests call, and why.
FOR_TESTS = {
    "td_job_ask_cancel": "a desktop asks hosts by a shell; tests and programs here by this",
    "td_axis_likeness_at": "the formula is compared with its plain form; a climb shows only where it is least",
}

LITERALS = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
COMMENT = re.compile(LITERALS, re.DOTALL)
COMMENT_OR_MACRO = re.compile(LITERALS + r'|^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*', re.DOTALL | re.MULTILINE)


FUNCTION = re.compile(r"\b([A-Za-z_]\w*)[ \t\n]*\(")


class Tree:
    """The sources: texts by path, and what each one includes."""

    def __init__(self, root):
        self.root = root
        self.paths = []
        for room in ROOMS:
            for folder, folders, names in os.walk(os.path.join(root, room)):
                folders.sort()
                here = os.path.relpath(folder, root)
                self.paths += [os.path.join(here, name) for name in sorted(names)]
        self.c_paths = [path for path in self.paths if path.endswith((".c", ".h", ".cl"))]
        self.house_paths = [path for path in self.c_paths if not path.startswith("tests/")]
        self.texts = {}
        for path in self.c_paths:
            with open(os.path.join(root, path), encoding="utf-8") as source:
                self.texts[path] = source.read()

    @functools.lru_cache(maxsize=None)
    def code(self, path, macros=False):
        """The text without comments and strings, and without preprocessor lines unless macros is set."""
        return (COMMENT if macros else COMMENT_OR_MACRO).sub(
            lambda match: "\n" * match.group(0).count("\n"), self.texts[path])

    @functools.lru_cache(maxsize=None)
    def words(self, path):
        return set(re.findall(r"\w+", self.code(path, macros=True)))

    @functools.lru_cache(maxsize=None)
    def includes(self, path):
        """The files of this tree that a file includes; generated headers are not in the tree."""
        found = []
        for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', self.texts[path], re.MULTILINE):
            for base in ("", os.path.dirname(path)):
                included = os.path.normpath(os.path.join(base, name))
                if included in self.texts:
                    found.append(included)
                    break
        return found

    def system_includes(self, path):
        return re.findall(r"^[ \t]*#[ \t]*include[ \t]+<([^>]+)>", self.texts[path], re.MULTILINE)


def room_of(path):
    return path.split("/")[0]


def rooms(tree):
    for path in tree.house_paths:
        room, folder = room_of(path), os.path.dirname(path)
        for included in tree.includes(path):
            other = room_of(included)
            headers = MAY_INCLUDE_HEADER.get(room, ()) + MAY_INCLUDE_HEADER.get(folder, ())
            if other != room and other not in MAY_INCLUDE[room] and included not in headers:
                yield Breach(f"{path} {included}", f"{path} includes {included}: {room} may include " + (
                    ", ".join(MAY_INCLUDE[room] + headers) or "no other room"))


def storeys(tree):
    for path in tree.house_paths:
        folder = os.path.dirname(path)
        if room_of(path) != "compute":
            continue
        if folder not in STOREY:
            yield Breach(folder, f"{path}: the folder {folder} has no storey in tests/house.py")
            continue
        for included in tree.includes(path):
            other = os.path.dirname(included)
            if other != folder and STOREY.get(other, -1) >= STOREY[folder]:
                yield Breach(f"{path} {included}", f"{path} includes {included}: {other} is not below {folder}")


def circles(edges):
    """The groups of nodes that reach one another (Tarjan's algorithm)."""
    index, low, stack, groups = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return groups


def folder_circles(tree):
    edges = {}
    for path in tree.house_paths:
        for included in tree.includes(path):
            if os.path.dirname(included) != os.path.dirname(path):
                edges.setdefault(os.path.dirname(path), set()).add(os.path.dirname(included))
    for group in circles(edges):
        yield Breach(" ".join(group), "these folders include one another: " + ", ".join(group))


def unit_of(path):
    """A source and its headers are one unit: plan.c, plan.h and plan-private.h."""
    return re.sub(r"(-private)?\.\w+$", "", path)


def unit_circles(tree):
    edges = {}
    for path in tree.house_paths:
        if not path.startswith(NO_UNIT_CIRCLES):
            continue
        for included in tree.includes(path):
            if unit_of(included) != unit_of(path):
                edges.setdefault(unit_of(path), set()).add(unit_of(included))
    for group in circles(edges):
        yield Breach(" ".join(group), "these files include one another: " + ", ".join(group))


def walls(tree):
    for path in tree.c_paths:
        for name in tree.system_includes(path):
            for library, header, allowed in WALLS:
                if re.fullmatch(header, name) and not re.match(allowed, path):
                    yield Breach(f"{path} {name}", f"{path} includes <{name}>: {library} belongs elsewhere")


def precompiled(tree):
    def reached(path, seen):
        if path not in seen:
            seen.add(path)
            for included in tree.includes(path):
                reached(included, seen)
        return seen

    for path in tree.c_paths:
        if not path.endswith(".c"):
            continue
        code = tree.code(path)
        calls = {match.group(1) for match in FUNCTION.finditer(code) if code[match.start() - 1] not in ".>"}
        headers = None
        for header, names in PRECOMPILED.items():
            called = sorted(name for name in calls if re.fullmatch(names, name))
            if called and headers is None:
                headers = {name for file in reached(path, set()) for name in tree.system_includes(file)}
            if called and header not in headers:
                yield Breach(f"{path} {header}", f"{path} calls {called[0]}() and does not include <{header}>")


def columns(tree):
    for path in tree.c_paths:
        for number, line in enumerate(tree.texts[path].split("\n"), 1):
            if len(line) > COLUMNS:
                yield Breach(path, f"{path}:{number}: {len(line)} columns, {COLUMNS} at the most")


@functools.cache
def functions(code):
    """(name, parameters, what stands before the name, line) of each function defined at file level."""
    found = []
    depth, at, last = 0, 0, 0
    token = re.compile(r"[{}]|" + FUNCTION.pattern)
    while True:
        match = token.search(code, at)
        if not match:
            return found
        at = match.end()
        if match.group(0) in "{}":
            depth += 1 if match.group(0) == "{" else -1
            last = at if depth == 0 else last
            continue
        if depth:
            continue
        end, open_ = at, 1
        while open_ and end < len(code):
            open_ += {"(": 1, ")": -1}.get(code[end], 0)
            end += 1
        if re.match(r"\s*\{", code[end:]):
            before = re.split(r"[;}]", code[last:match.start()])[-1]
            found.append((match.group(1), split_parameters(code[at:end - 1]), before,
                          code.count("\n", 0, match.start(1)) + 1))
        at = end


def split_parameters(text):
    parts, depth = [""], 0
    for letter in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in (part.strip() for part in parts) if part not in ("", "void")]


def parameters(tree):
    for path in tree.c_paths:
        for name, found, before, line in functions(tree.code(path)):
            # A kernel takes its buffers one by one. A test may stand in a function's place of MPI.
            if len(found) > PARAMETERS and "TD_KERNEL" not in before and not name.startswith("MPI_"):
                yield Breach(name, f"{path}:{line}: {name}() takes {len(found)} parameters, "
                                   f"{PARAMETERS} at the most")


def static_names(tree):
    seen = {}
    for path in tree.house_paths:
        for name, _, before, line in functions(tree.code(path)):
            if not re.search(r"\bstatic\b", before) or "TD_KERNEL" in before:
                continue
            if "_" not in name:
                yield Breach(f"{path} {name}", f"{path}:{line}: {name}() is static and a single word: "
                                               "say whose it is")
            # A dialect's header says anew, for its target, what kernels call.
            elif not path.startswith("kernels/") and seen.setdefault(name, path) != path:
                yield Breach(f"{path} {name}", f"{path}:{line}: {name}() is in {seen[name]}, too: "
                                               "a backtrace should tell them apart")


def unused(tree):
    """The compiler finds static functions of sources; this finds those of headers, and extern ones."""
    house_users, users = collections.defaultdict(set), collections.defaultdict(set)
    for path in tree.c_paths:
        for word in tree.words(path):
            users[word].add(path)
            if not path.startswith("tests/"):
                house_users[word].add(path)
    # The clean-up functions of g_autoptr() are called where the type's variables are.
    freed = {function for path in tree.c_paths
             for function in re.findall(r"G_DEFINE_AUTO\w+ \(\w+,\s*(\w+)", tree.code(path))}
    for path in tree.c_paths:
        for name, _, before, line in functions(tree.code(path)):
            if path.endswith(".h"):
                if "static" in before and users[name] == {path} and len(
                        re.findall(rf"\b{name}\b", tree.code(path, macros=True))) == 1:
                    yield Breach(name, f"{path}:{line}: {name}() is never called")
                continue
            if not path.endswith(".c") or re.search(r"\bstatic\b", before) or name in freed:
                continue
            if name == "main" or path.startswith(("tests/fuzz/", "tests/faults/fake-", "tests/race/")):
                continue
            if any(not user.endswith(".h") for user in users[name] - {path}):
                others = users if path.startswith("tests/") else house_users
                # A part that its own file uses may be tested by itself.
                within = len(re.findall(rf"\b{name}\b", tree.code(path, macros=True))) > 1
                if name in FOR_TESTS or within or any(
                        not user.endswith(".h") for user in others[name] - {path}):
                    continue
                yield Breach(name, f"{path}:{line}: only tests call {name}()")
            elif declared_in_header(tree, name, users[name]):
                yield Breach(name, f"{path}:{line}: no other file calls {name}(): make it static, or remove it")


def declared_in_header(tree, name, paths):
    """Whether a header of the project declares the function, and no macro of a header calls it."""
    headers = [path for path in paths if path.endswith(".h")]
    return bool(headers) and not any(
        re.search(rf"^[ \t]*#(?:\\\n|[^\n])*\b{name}\b", tree.texts[path], re.MULTILINE) for path in headers)


# Lines of a comment that are no prose: those set in by four spaces or more, and rows of a table, which
# have a gap of two spaces or more.
NO_PROSE = re.compile(r"^(?: {4}| *\S.*  ).*$|^$", re.MULTILINE)
# Where a sentence ends: at a stop, at a colon or semicolon before a capital and the like, before the
# text of a parameter ("@name:"), and before an item of a list.
SENTENCE_END = re.compile(r"""(?<=[.!?])\s+|(?<=[.!?][)"”])\s+|(?<=[;:])\s+(?=[A-Z@\d"“(\[`*])"""
                          r"""|\s+(?=@\w+:)|\n\s*(?:[-*]|\d+\.)\s""")


def sentences(comment, column):
    """The sentences of a comment that begins in that column, without tables and formulas."""
    lines = [re.sub(r"^/\*+ ?", "", line) if number == 0
             else re.sub(r"^ *\*(?!\w) ?| {,%d}" % (column + 3), "", line, count=1)
             for number, line in enumerate(comment[:-2].split("\n"))]
    return SENTENCE_END.split(NO_PROSE.sub(". ", "\n".join(lines)))


def pages(tree):
    """What people read."""
    names = sorted(os.listdir(os.path.join(tree.root, "docs")))
    return ["README.md", "DESIGN.md", "CONTRIBUTING.md"] + [
        f"docs/{name}" for name in names if name.endswith(".md")]


def page_sentences(text):
    """The sentences of a page: of its paragraphs, items and cells, without code and addresses."""
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"^(?: {4}.*|#.*)$", "", text, flags=re.MULTILINE))
    text = re.sub(r"`[^`]*`", "X", text).replace("*", "")
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-|]|\d+\.)\s)", text):
        for cell in block.split("|") if block.lstrip().startswith("|") else [block]:
            yield from SENTENCE_END.split(cell)


def words_of(sentence):
    return [word for word in sentence.split() if re.search(r"\w", word)]


def long_sentences(tree):
    for path in pages(tree):
        with open(os.path.join(tree.root, path), encoding="utf-8") as page:
            for sentence in page_sentences(page.read()):
                words = words_of(sentence)
                if len(words) > WORDS:
                    start = " ".join(words[:6])
                    yield Breach(f"{path} {start}", f"{path}: {len(words)} words in a sentence, "
                                                    f"{WORDS} at the most: {start} …")
    for path in tree.c_paths:
        text = tree.texts[path]
        for match in COMMENT.finditer(text):
            if not match.group(0).startswith("/*"):
                continue
            column = match.start() - text.rfind("\n", 0, match.start()) - 1
            for sentence in sentences(match.group(0), column):
                words = words_of(re.sub(r"`[^`]*`", "X", sentence))
                if len(words) > WORDS:
                    start = " ".join(words[:6])
                    line = text.count("\n", 0, match.start()) + 1
                    yield Breach(f"{path} {start}", f"{path}:{line}: {len(words)} words in a sentence, "
                                                    f"{WORDS} at the most: {start} …")


def licences(tree):
    for path in tree.paths:
        if not path.endswith((".c", ".h", ".cl", ".py", ".sh")):
            continue
        with open(os.path.join(tree.root, path), encoding="utf-8") as source:
            start = source.read(400).split("\n")[:3]
        if not any("SPDX-License-Identifier: GPL-3.0-or-later" in line for line in start):
            yield Breach(path, f"{path} does not start with an SPDX line")


def clang_format():
    """clang-format 14, which decides how a source is laid out; None if it is not installed."""
    for name in ("clang-format-14", "clang-format"):
        program = shutil.which(name)
        if program and re.search(r"version 14\.", subprocess.run(
                [program, "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout):
            return program
    return None


def layout(tree):
    # Kernels are laid out by hand: a dialect of macros is not C to the tool.
    sources = [path for path in tree.c_paths if not path.startswith("kernels/")]
    said = subprocess.run([clang_format(), "--dry-run", *sources], cwd=tree.root, stderr=subprocess.PIPE,
                          text=True, check=False).stderr
    for path, line in re.findall(r"^(\S+?):(\d+):\d+: \w+: code should be clang-formatted", said, re.MULTILINE):
        yield Breach(path, f"{path}:{line}: clang-format 14 would lay this out differently")


def terminal(tree):
    """Names and file contents may hold what a terminal obeys: one file of the command line prints."""
    for path in tree.house_paths:
        if not re.match(r"app/cli(-|\.)", path) or path == "app/cli-shared.c":
            continue
        for match in re.finditer(r"\b(v?f?printf|f?puts|f?putc|putchar|g_printerr?) \(", tree.code(path)):
            line = tree.code(path).count("\n", 0, match.start()) + 1
            yield Breach(f"{path} {match.group(1)}", f"{path}:{line}: {match.group(1)}() prints past "
                                                     "td_cli_print() and td_cli_say()")


def reductions(tree):
    """Open MPI crashes on non-blocking reductions of device memory (ompi#12045): ranks add up by segments."""
    for path in tree.house_paths:
        for name in sorted(tree.words(path)):
            if re.fullmatch(r"P?MPI_(Ireduce|Iallreduce)\w*", name):
                yield Breach(f"{path} {name}", f"{path}: {name}() is not used: see cluster/reduce.h")


def test_names(tree):
    """Whether a test has that name: a path in a program (* stands for several), a program, a file."""
    # Programs put paths together of strings: all parts of a path stand in one program, or are its name.
    parts = {}
    builds = ""
    for path in tree.paths:
        name = os.path.splitext(os.path.basename(path))[0].removeprefix("test-")
        if path.startswith("tests/") and path.endswith(".c"):
            parts[path] = {name} | {part for text in re.findall(r'"([^"\s]+)"', tree.texts[path])
                                    for part in text.split("/")}
        elif path.endswith("meson.build"):
            with open(os.path.join(tree.root, path), encoding="utf-8") as build:
                builds += build.read()
    programs = {os.path.splitext(os.path.basename(path))[0].removeprefix("test-")
                for path in tree.paths if path.startswith("tests/")} | set(re.findall(r"'([\w-]+)'", builds))
    begun = tuple(name for name in programs if name.endswith("-"))

    def has(there, part):
        return part in there or ("*" in part and any(one.startswith(part.split("*")[0]) for one in there))

    def is_one(name):
        if not name.startswith("/"):
            return (name in programs or name.startswith(begun)
                    or os.path.exists(os.path.join(tree.root, name)))
        return any(all(has(there, part) for part in name[1:].split("/")) for there in parts.values())
    return is_one


def told_tests(tree):
    """Each row of a table whose last column is of tests names tests that are there."""
    path, of_tests, is_one = "docs/reliability.md", False, test_names(tree)
    with open(os.path.join(tree.root, path), encoding="utf-8") as report:
        for number, line in enumerate(report, 1):
            last = line.strip("|\n ").split(" | ")[-1].strip() if line.startswith("|") else None
            of_tests = last is not None and (of_tests or last in ("test", "tests"))
            for name in re.findall("`([^`]+)`", last) if of_tests else ():
                if not is_one(name):
                    yield Breach(name, f"{path}:{number}: there is no test {name}")


def walk(tree):
    """DESIGN.md lists the functions from a slider to the kernel: each calls the next, by a pointer or a signal too."""
    with open(os.path.join(tree.root, "DESIGN.md"), encoding="utf-8") as design:
        rows = re.findall(r"^\| (\d+) \| (.*?) \| ?`?([^`|]*)`? \| ", design.read(), re.MULTILINE)
    if not 0 < len(rows) <= WALK:
        yield Breach("length", f"DESIGN.md: {len(rows)} functions from a slider to the kernel, {WALK} at the most")
    path, before, body = "", "", None
    for number, cell, named in rows:
        path, name = named or path, re.search(r"`(\w+)`", cell).group(1)
        pointer = any(re.search(rf"(?<!^)\b{name}\b(?! \()", tree.code(source), re.MULTILINE)
                      for source in tree.house_paths)
        if body is not None and not re.search(rf"\b{name}\b", body) and not (
                pointer and re.search(r"->\w+ \(|g_signal_emit", body)):
            yield Breach(name, f"DESIGN.md, step {number}: {before}() does not call {name}()")
        found = re.search(rf"^{name} \(.*?^}}", tree.code(path) if path in tree.texts else "", re.MULTILINE | re.DOTALL)
        if not found:
            yield Breach(name, f"DESIGN.md, step {number}: there is no {name}() in {path}")
        before, body = name, found and found.group(0)


def pictures(tree):
    """Pictures that the README and the metainfo show are there, and the script makes them of the running program."""
    with open(os.path.join(tree.root, "docs/make-screenshots"), encoding="utf-8") as script:
        made = set(re.findall(r"\b(?:shot|film) (\S+)", script.read()))
    for path in ("README.md", "data/org.tomodesk.Tomodesk.metainfo.xml.in"):
        with open(os.path.join(tree.root, path), encoding="utf-8") as page:
            named = re.findall(r"(?:docs/images|@PICTURES@)/([\w-]+)\.(\w+)", page.read())
        if not named:
            yield Breach(path, f"{path} shows no picture")
        for name, kind in named:
            if name not in made or not os.path.exists(os.path.join(tree.root, f"docs/images/{name}.{kind}")):
                yield Breach(f"{path} {name}", f"{path}: docs/make-screenshots makes no {name}.{kind}, or it is not there")


CHECKS = (
    ("rooms", "a room includes only the rooms it may", rooms),
    ("storeys", "the folders of compute include downwards only", storeys),
    ("folder-circles", "no folders include one another", folder_circles),
    ("unit-circles", "no files of the engine include one another", unit_circles),
    ("walls", "GTK, OpenGL, MPI, OpenCL, CUDA, libtiff and HDF5 stay where they belong", walls),
    ("precompiled", "a file includes itself what a build reads once for many", precompiled),
    ("columns", f"no line is longer than {COLUMNS} columns", columns),
    ("parameters", f"no function takes more than {PARAMETERS} parameters", parameters),
    ("static-names", "static functions say whose they are, and no two have one name", static_names),
    ("unused", "every function is called", unused),
    ("walk", f"from a slider to the kernel are {WALK} functions, as DESIGN.md says", walk),
    ("terminal", "the command line prints in one place", terminal),
    ("reductions", "no reduction that MPI cannot do of device memory", reductions),
    ("sentences", f"no sentence of a comment or a guide has more than {WORDS} words", long_sentences),
    ("licences", "every source states its licence", licences),
    ("told-tests", "the tests that the report on reliability names are there", told_tests),
    ("pictures", "pictures of the README and the metainfo are made by the script", pictures),
    ("layout", "sources are laid out by clang-format 14", layout),
)


def known_breaches(root):
    path = os.path.join(root, "tests", "house-known.txt")
    if not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as known:
        return {tuple(line.rstrip("\n").split(" ", 1)) for line in known if line.strip()}


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    tree = Tree(root)
    known = known_breaches(root)
    failed = False
    print(f"1..{len(CHECKS)}")
    for number, (name, rule, check) in enumerate(CHECKS, 1):
        if check is layout and not clang_format():
            print(f"ok {number} - {name}: {rule} # SKIP clang-format 14 is not installed")
            continue
        found = list(check(tree))
        new = [breach for breach in found if (name, breach.name) not in known]
        for breach in new:
            print(f"# {breach.message}")
        mended = {known_name for rule_name, known_name in known if rule_name == name}
        mended -= {breach.name for breach in found}
        for known_name in sorted(mended):
            print(f"# mended, to be deleted from tests/house-known.txt: {name} {known_name}")
        print(f"{'not ok' if new else 'ok'} {number} - {name}: {rule}")
        failed = failed or bool(new)
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--list"]:
        everything = Tree(sys.argv[2] if len(sys.argv) > 2 else ".")
        print("\n".join(sorted({f"{name} {breach.name}" for name, _, check in CHECKS
                                for breach in check(everything)})))
        sys.exit(0)
    sys.exit(main())

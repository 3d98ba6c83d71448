#!/usr/bin/env python3
"""The C++ that the pages show compiles, and the commands they name exist. usage: snippets_test.py COMPILER COMMAND

A ```cpp block is compiled as it is, at namespace scope. A comment before it says otherwise:
  <!-- given: const tt::Tensor a; -->   statements, compiled inside a function after these
  <!-- not compiled: why -->            left out
  <!-- spans, given: ... -->            before a paragraph, list or table: each `code span` of it is an expression or a statement
All of it is one translation unit, in which each piece has a namespace of its own; messages name the page and the line.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("src/**/README.md"))]
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Wno-unused-but-set-variable"]
MARKED = re.compile(r"(?:<!--(?P<marker>(?:(?!-->).)*)-->\n)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.S | re.M)
SPANS = re.compile(r"<!-- spans, given:(?P<given>(?:(?!-->).)*)-->\n(?P<text>.*?)(?:\n\n|\Z)", re.S)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[^\n]*$", re.M)


def place(text, position):
    return text.count("\n", 0, position) + 1


class Unit:
    """The pieces found so far, as one translation unit."""

    def __init__(self):
        self.includes = {"#include <tutti/tutti.h>"}
        self.pieces = []

    def take_includes(self, text):
        self.includes |= {line.strip() for line in INCLUDE.findall(text)}
        return INCLUDE.sub("", text)  # the line stays, so that lines count as on the page

    def add(self, page, line, text, given=None, given_line=0):
        text = self.take_includes(text).replace("int main(", "auto main(")  # in a namespace it would have to return something
        begin = f"namespace snippet_{len(self.pieces)} {{\n"
        end = "\n}\n"
        if given is not None:
            begin += f'void body() {{\n#line {given_line} "{page}"\n{self.take_includes(given)}\n'
            end = "\n}\n}\n"
        self.pieces.append(f'{begin}#line {line} "{page}"\n{text}{end}')

    def source(self):
        return "\n".join([*sorted(self.includes), "namespace tt = tutti;", "using namespace std::chrono_literals;", *self.pieces])


def is_cpp(span):
    """Not a command, an environment variable or a path."""
    return not re.match(r"(tutti|make) |TUTTI_|[\w.-]+/[\w/.-]*$|[\w-]+\.\w+$", span)


def statement(span):
    """A code span as a statement: `sum(x) > 5`, `x = y`, `auto y = x`, `if (c)`, or the name of a function or type."""
    if re.fullmatch(r"(tt::|tutti::)?[A-Za-z_]\w*", span):
        return f"using tutti::{span.split('::')[-1]};"
    if span.endswith(";") or span.startswith("auto "):
        return f"{{ {span}; }}"
    return span + " {}" if re.match(r"(if|while|for) \(", span) else f"static_cast<void>({span});"


def collect(unit, page, text):
    """The C++ of a page; returns what is wrong with its markers."""
    faults = []
    for block in MARKED.finditer(text):
        marker = (block["marker"] or "").strip()
        if block["language"] != "cpp" or marker.startswith("not compiled: "):
            continue
        given = marker.removeprefix("given:") if marker.startswith("given:") else None
        if marker and given is None:
            faults.append(f"{page}:{place(text, block.start())}: a comment before a block that is no marker: {marker}")
        unit.add(page, place(text, block.start("text")), block["text"], given, place(text, block.start()))
    for part in SPANS.finditer(text):
        for span in SPAN.finditer(part["text"]):
            if is_cpp(span[1]):
                line, expression = place(text, part.start("text") + span.start()), span[1].replace("\\|", "|")
                unit.add(page, line, statement(expression), "using namespace tutti;" + part["given"], place(text, part.start()))
    return faults


def compiled(unit, compiler):
    """What the compiler says."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "snippets.cc"
        source.write_text(unit.source())
        words = [compiler, *FLAGS, f"-I{ROOT / 'src'}", source]
        done = subprocess.run(words, text=True, capture_output=True, env=os.environ | {"LC_ALL": "C"})
    return done.stderr if done.returncode != 0 else ""


def commands(text):
    """Command lines in blocks of shell and in code spans."""
    for block in MARKED.finditer(text):
        if block["language"] == "sh":
            yield from ((place(text, block.start("text")) + i, line) for i, line in enumerate(block["text"].splitlines()))
    outside = MARKED.sub(lambda block: "\n" * block[0].count("\n"), text)
    yield from ((place(outside, span.start()), span[1]) for span in SPAN.finditer(outside))


class Commands:
    """What the Makefile and the command really have."""

    def __init__(self, command):
        self.command = command
        self.helps = {}
        rules = re.findall(r"^([a-z][\w -]*):", (ROOT / "Makefile").read_text(), re.M)
        self.targets = {target for rule in rules for target in rule.split()}

    def help_of(self, *words):
        if words not in self.helps:
            self.helps[words] = subprocess.run([self.command, *words, "--help"], text=True, capture_output=True).stdout
        return self.helps[words]

    def faults(self, line):
        line = line.split(" #")[0]
        for target in line.split()[1:] if line.startswith("make ") else []:
            if re.match("[a-z]", target) and target not in self.targets:
                yield f"make has no target '{target}'"
        for each in re.split(r"&&|\|\||[;|&']", line):
            found = re.match(r"\s*(?:[A-Z_]+=\S* )*tutti ([a-z]+)(.*)", each)
            if not found:
                continue
            if not re.search(rf"^ +{found[1]}\b", self.help_of(), re.M):
                yield f"tutti has no subcommand '{found[1]}'"
                continue
            for option in re.findall(r"(?<!\S)(--?[a-z][\w-]*)", found[2].split(" -- ")[0].split(" ./")[0]):
                if not re.search(rf"(?<![\w-]){option}(?![\w-])", self.help_of(found[1])):
                    yield f"tutti {found[1]} has no option {option}"


class Checker(unittest.TestCase):
    """What the test itself would find."""

    def said(self, page):
        unit = Unit()
        faults = collect(unit, "page.md", page)
        return "\n".join([*faults, compiled(unit, COMPILER)])

    def test_a_block_that_does_not_compile_is_named_by_page_and_line(self):
        page = "text\n\n```cpp\nint right() { return 1; }\nint wrong() { return nothing; }\n```\n\n<!-- given: tt::Tensor a; -->\n```cpp\na = a.missing();\n```\n"
        said = self.said(page + "<!-- not compiled: shows an error -->\n```cpp\nnonsense\n```\n")
        self.assertIn("page.md:5:", said)
        self.assertIn("page.md:10:", said)
        self.assertNotIn("nonsense", said)

    def test_a_span_that_does_not_compile_is_named(self):
        page = "<!-- spans, given: const Tensor x = ones({2}); -->\n| `sum(x)` | `x.nothing()` |\n| `missing` | `while (item<bool>(all(x)))` |\n\n`elsewhere(`\n"
        said = self.said(page)
        self.assertIn("page.md:2:", said)
        self.assertIn("'nothing'", said)
        self.assertIn("page.md:3:", said)
        self.assertNotIn("elsewhere", said)

    def test_a_misspelt_marker_is_a_fault(self):
        self.assertIn("page.md:1: a comment", self.said("<!-- givn: -->\n```cpp\nint a;\n```\n"))

    def test_commands_that_do_not_exist_are_faults(self):
        there = Commands(COMMAND)
        for line in ("make nothing", "tutti nothing", "A=1 tutti launch --nothing -- ./program", "true && tutti barrier --nothing"):
            self.assertEqual(len(list(there.faults(line))), 1, line)
        for line in ("make test", "make bench QUICK=1  # nothing", "tutti launch -n 4 -- ./program --nothing", "tutti run -- ./program", "tutti"):
            self.assertEqual(list(there.faults(line)), [], line)


class Pages(unittest.TestCase):
    maxDiff = None

    def test_every_piece_of_cpp_compiles(self):
        unit = Unit()
        faults = [fault for page in PAGES for fault in collect(unit, page.relative_to(ROOT), page.read_text())]
        self.assertGreater(len(unit.pieces), 30)
        self.assertEqual("\n".join([*faults, compiled(unit, COMPILER)]), "")

    def test_every_function_called_in_a_span_is_declared(self):
        words = {word for header in ROOT.glob("src/**/*.h") for word in re.findall(r"\w+", header.read_text())}
        # Decisions tell of their time, the pages of lint of Python.
        for page in (page for page in PAGES if page.parent.name not in ("decisions", "lint") and page.stem != "lint"):
            text = MARKED.sub(lambda block: "\n" * block[0].count("\n"), page.read_text())
            for span in SPAN.finditer(text):
                called = set(re.findall(r"\b([A-Za-z_]\w*)(?:<[^<>]*>)?\(", span[1]))
                self.assertEqual(called - words, set(), f"{page.relative_to(ROOT)}:{place(text, span.start())}")

    def test_every_command_exists(self):
        there = Commands(COMMAND)
        faults = [f"{page.relative_to(ROOT)}:{line}: {fault}"
                  for page in PAGES for line, text in commands(page.read_text()) for fault in there.faults(text)]
        self.assertEqual("\n".join(faults), "")

    def test_no_block_is_without_a_language(self):
        for page in PAGES:
            text = page.read_text()
            for block in MARKED.finditer(text):
                self.assertNotEqual(block["language"], "", f"{page.relative_to(ROOT)}:{place(text, block.start())}")


class Targets(unittest.TestCase):
    # Why nothing in .ci/run builds them.
    ALONE = {
        "help": "prints its own text",
        "clean": "removes what the others made",
        "format": "lint finds what it would change",
        "soak": "takes half an hour; its judge has tests of its own",
    }

    def test_every_target_is_made_by_the_checks(self):
        makefile = (ROOT / "Makefile").read_text()
        targets = set(re.search(r"^\.PHONY: (help.*)$", makefile, re.M)[1].split())
        needs = {target: needed.split() for target, needed in re.findall(r"^([a-z][\w-]*):(.*)$", makefile, re.M)}
        made = set(re.findall(r"\b[a-z][\w-]*\b", " ".join(re.findall(r"^timed make(.*)$", (ROOT / ".ci/run").read_text(), re.M))))
        while more := {needed for target in made for needed in needs.get(target, [])} - made:
            made |= more
        made |= {target for target in targets if needs.get(target) and made.issuperset(needs[target])}  # sanitize
        self.assertEqual(targets - made - set(self.ALONE), set())
        self.assertEqual(set(self.ALONE) - targets | set(self.ALONE) & made, set(), "no longer true")


if __name__ == "__main__":
    COMMAND = sys.argv.pop(2)
    COMPILER = sys.argv.pop(1)
    unittest.main()

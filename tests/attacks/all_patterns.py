"""Every regular expression of the program, how it is used, and texts that would make a bad one slow."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _parser as parser  # type: ignore[attr-defined]  # what a pattern is made of
from types import ModuleType
from typing import Final

import lab
import reporter
from reporter.diagnosis import case, texts
from reporter.diagnosis.signatures import built_in

METHODS: Final = ("search", "match", "fullmatch", "sub", "finditer", "findall", "split")
_CALLS: Final = frozenset({*METHODS, "compile", "subn"})

PIECES: Final = (
    " ", "\t", "\n", "\r\n", "a", "A", "0", "_", "-", ".", ",", ":", "/", "=", "@", "%", "#", "\\", "'", '"', "<",
    ">", "(", ")", "[", "]", "{", "}", "é", "\u2028", "\x1b[", "a ", "a  ", "ab\n", "0 ", " \n", "a,", "a.", "a-",
    "a/", "a=", "a: ", "a:", "0.", "0:", "0a", "a@", "- ", '"a', "'a' ", '\\"', "://", "a://", '"a":', "{\n", "\n{",
    "[{", "}]", "}\n", "Aa0", "Aa0+/", "0-", "\\n", "\n- ", "a=b,", "0e", "()", "a(", "ab://",
    "abcdefghijklmnop  ", "abcdefghijklmnop\\n", f"{'aA0+' * 16}\n", "aaa0Q~",
)  # fmt: skip
"""Blanks, words, digits, brackets, quotes, line ends and mixtures of them: each is repeated."""


_MANY: Final = 20
"""Literals in a pattern from which on fewer mixtures are tried with each."""

USED_OTHERWISE: Final = {
    "reporter.model.credentials._KEYS": ("finditer",),
    "reporter.snapshot.inputs.files._PATTERNS": ("match",),
    "reporter.snapshot.decode._DEEP": ("match",),
    "reporter.snapshot.decode._SHALLOW": ("match",),
}
"""How patterns are used that stand in tables or are chosen from."""


NOT_FOREIGN: Final = {
    "reporter.diagnosis.signatures._PIECE"  # a user's own regular expressions, of 400 characters
}


@dataclass(frozen=True)
class Found:
    """A pattern, where it stands, and what it is called by."""

    place: str
    pattern: re.Pattern[str] | re.Pattern[bytes]
    methods: tuple[str, ...]


def all_patterns() -> list[Found]:
    """Return those of globals, classes, closures and containers, and the literal ones in functions."""
    modules = [*_modules(reporter), *_modules(lab)]
    sources = {each.__name__: Path(each.__file__ or "").read_text() for each in modules}
    whole = "\n".join(sources.values())
    found: dict[tuple[object, int], Found] = {}
    for module in modules:
        for name, value in vars(module).items():
            for pattern, bound in _patterns_in(value, set(), module.__name__):
                key = (pattern.pattern, pattern.flags)
                used = {*(found[key].methods if key in found else ()), *bound}
                place = f"{module.__name__}.{name}"
                used |= set(USED_OTHERWISE.get(place, ()))
                if not bound and place not in USED_OTHERWISE:
                    used |= _methods_of(name, sources[module.__name__], whole)
                found[key] = Found(place, pattern, tuple(sorted(used)))
        for pattern, method in _literals(ast.parse(sources[module.__name__])):
            key = (pattern.pattern, pattern.flags)
            found.setdefault(key, Found(f"{module.__name__} (literal)", pattern, (method,)))
    for row in (*texts.IMAGES, *texts.MOUNTS, *texts.NODE_REFUSALS, *texts.STARTS, *case.REFUSALS):
        pattern = re.compile(row.pattern, re.IGNORECASE)
        found[pattern.pattern, pattern.flags] = Found(f"row {row.code}", pattern, ("search",))
    for each in built_in():
        key = (each.pattern.pattern, each.pattern.flags)
        found[key] = Found(f"signature {each.id}", each.pattern, ("search",))
    return [each for each in found.values() if each.place not in NOT_FOREIGN]


def made_in_functions() -> set[str]:
    """Return the functions that make patterns of what they are given, by module and name."""
    return {
        f"{module.__name__}.{function.name}"
        for package in (reporter, lab)
        for module in _modules(package)
        for function in ast.walk(ast.parse(Path(module.__file__ or "").read_text()))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for call in ast.walk(function)
        if _is_call_of_re(call) and not isinstance(call.args[0], ast.Constant)  # type: ignore[attr-defined]
    }


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    yield package
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not each.name.endswith("__main__"):
            yield importlib.import_module(each.name)


def _patterns_in(
    value: object, seen: set[int], module: str
) -> Iterator[tuple[re.Pattern[str] | re.Pattern[bytes], tuple[str, ...]]]:
    if id(value) in seen:
        return
    seen.add(id(value))
    inner: list[object] = []
    if isinstance(value, re.Pattern):
        yield value, ()
    elif isinstance(getattr(value, "__self__", None), re.Pattern):
        yield value.__self__, (value.__name__,)  # type: ignore[attr-defined]
    elif isinstance(value, dict):
        inner = list(value.values())
    elif isinstance(value, tuple | list | set | frozenset):
        inner = list(value)
    elif isinstance(value, type) and value.__module__ == module:
        inner = list(vars(value).values())
    elif getattr(value, "__module__", None) == module:
        inner = [each.cell_contents for each in getattr(value, "__closure__", None) or ()]
        inner += [*(getattr(value, "__defaults__", None) or ())]
    for each in inner:
        yield from _patterns_in(each, seen, module)


def _methods_of(name: str, own: str, whole: str) -> set[str]:
    """Return what a name is called with; a search where that is not seen, which is the strictest."""
    calls = re.compile(rf"\b{re.escape(name)}\.({'|'.join(METHODS)})\b")
    return set(calls.findall(own) or calls.findall(whole) or ["search"])


def _is_call_of_re(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in _CALLS
    )


def _literals(tree: ast.AST) -> Iterator[tuple[re.Pattern[str] | re.Pattern[bytes], str]]:
    for node in ast.walk(tree):
        if _is_call_of_re(node) and isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
            method = node.func.attr  # type: ignore[attr-defined]
            if method != "compile":
                yield re.compile(node.args[0].value), method.replace("subn", "sub")  # type: ignore[attr-defined]


def literals_of(pattern: re.Pattern[str] | re.Pattern[bytes]) -> list[str]:
    """Return the texts that stand in a pattern, each once."""
    source = pattern.pattern
    text = source.decode("latin-1") if isinstance(source, bytes) else source
    found: dict[str, None] = {}

    def walk(parsed: object) -> None:
        run = ""
        for operation, argument in parsed:  # type: ignore[attr-defined]
            if str(operation) == "LITERAL":
                run += chr(argument)
                continue
            if run:
                found[run] = None
                run = ""
            below(argument)
        if run:
            found[run] = None

    def below(argument: object) -> None:
        if isinstance(argument, parser.SubPattern):
            walk(argument)
        elif isinstance(argument, tuple | list):
            for each in argument:
                below(each)

    walk(parser.parse(text, pattern.flags & ~re.UNICODE & ~re.ASCII))
    return list(found)


@dataclass(frozen=True)
class Run:
    """A text of any size: a piece again and again, behind a beginning and before an end."""

    start: str
    piece: str
    end: str

    def text(self, size: int) -> str:
        return self.start + self.piece * (size // len(self.piece)) + self.end


def runs_for(pattern: re.Pattern[str] | re.Pattern[bytes]) -> Iterator[Run]:
    """Yield runs of everything, and of what stands in a pattern, alone and behind what begins a match."""
    own = literals_of(pattern)
    few = len(own) < _MANY
    ends = ("", " ", "a", "-", ".", "/", "=", "\\") if few else ("", "-")
    for piece in (*PIECES, *(f"{each}{end}" for each in own for end in ends)):
        yield Run("", piece, "\0")
        yield Run("a", piece, "!")
    for start in own:
        for piece in PIECES[:30] if few else (" ", "a", "0", "-", "=", "\\"):
            yield Run(start, piece, "\0")


def use(found: Found, method: str, text: str) -> None:
    """Use a pattern on a text as the program does."""
    given = text.encode() if isinstance(found.pattern.pattern, bytes) else text
    if method == "sub":
        found.pattern.sub(b"" if isinstance(given, bytes) else "", given)  # type: ignore[arg-type]
    elif method == "finditer":
        for _ in found.pattern.finditer(given):  # type: ignore[arg-type]
            pass
    else:
        getattr(found.pattern, method)(given)

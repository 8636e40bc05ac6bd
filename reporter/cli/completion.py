"""Completion of command lines, for shells and for kubectl.

On each Tab a shell runs `status-reporter __complete WORD...` with the words after the program's
name; the last one, which may be empty, is being typed. The answer has one candidate per line, with
its meaning after a tab, and ends with `:4` (no file names) or `:0` (file names too). That is the
protocol of cobra (spf13/cobra, completions.go), which kubectl uses for plugins: it runs
`kubectl_complete-status_reporter` (Kubernetes, kubectl/pkg/cmd/plugin/plugin_completion.go, v1.26).

argcomplete 3 supports neither that protocol nor commands that are loaded on demand; shtab 1.7
writes no script for fish, and does not complete names of contexts and reasons.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Final

from reporter.arguments import Parser
from reporter.errors import UsageError

SHELLS: Final = ("bash", "zsh", "fish")

_FILES, _NO_FILES = ":0", ":4"
"""ShellCompDirectiveDefault and ShellCompDirectiveNoFileComp of cobra."""

_PATHS: Final = frozenset({"PATH", "FILE", "FILE.tgz", "FOLDER"})
_EXAMPLES: Final = (
    ("source <(status-reporter completion bash)", "in ~/.bashrc"),
    ("source <(status-reporter completion zsh)", "in ~/.zshrc, after compinit"),
    ("status-reporter completion fish | source", "in ~/.config/fish/config.fish"),
)

Candidate = tuple[str, str]
"""A word and its meaning."""


def main(argv: Sequence[str]) -> int:
    sys.stdout.write(_SCRIPTS[command_parser().parse(argv).shell])
    return 0


def command_parser() -> Parser:
    parser = Parser(
        "completion",
        "Print the script that completes command lines in a shell.",
        arguments="SHELL",
        examples=_EXAMPLES,
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    return parser


def complete(
    words: Sequence[str],
    commands: Callable[[], Mapping[str, str]],
    main_of: Callable[[str], Callable[..., int]],
) -> int:
    """Print the candidates for the last word of a command line, which is being typed."""
    if len(words) <= 1:
        _answer(commands().items(), (words or [""])[-1], files=False)
        return 0
    parser = _parser_of(words[0], main_of)
    if parser is None:
        sys.stdout.write(f"{_FILES}\n")
        return 0
    return complete_flags(parser, words[1:])


def complete_flags(parser: Parser, words: Sequence[str]) -> int:
    *before, word = words or [""]
    flags = {name: each for each in parser.visible() for name in each.option_strings}
    name, equals, start = word.partition("=")
    action = flags.get(name) if equals else flags.get(before[-1]) if before else None
    if action is not None and action.nargs != 0:
        prefix = f"{name}=" if equals else ""
        _values(action, start if equals else word, prefix, before=before)
    elif word.startswith("-"):
        # Only the beginning of each help text.
        shown = (
            (flag, (each.help or "").replace("%%", "%").split(";")[0].split(": ")[0])
            for flag, each in flags.items()
        )
        _answer(shown, word, files=False)
    else:
        positional = next((each for each in parser.visible() if not each.option_strings), None)
        _values(positional, word, "")
    return 0


def _values(
    action: argparse.Action | None, word: str, prefix: str, *, before: Sequence[str] = ()
) -> None:
    if action is None:
        _answer((), word, files=False)
        return
    metavar = str(action.metavar or "")
    found: Iterable[Candidate] = [(str(each), "") for each in action.choices or ()]
    if not found and "|" in metavar:
        found = [(each, "") for each in metavar.split("|")]
    elif find := _NAMES.get(action.dest, _NAMES.get(metavar)):
        found = [*find(before)]
        # Values are separated by commas, and the last one is being typed.
        known, comma, word = word.rpartition(",")
        prefix = f"{prefix}{known}{comma}"
    named = ((f"{prefix}{each}", meaning) for each, meaning in found)
    _answer(named, f"{prefix}{word}", files=metavar in _PATHS)


def _answer(candidates: Iterable[Candidate], word: str, *, files: bool) -> None:
    fitting = [each for each in candidates if each[0].startswith(word)]
    lines = [f"{name}\t{meaning}" if meaning else name for name, meaning in fitting]
    sys.stdout.write("\n".join([*lines, _FILES if files else _NO_FILES]) + "\n")


def _contexts(_: Sequence[str]) -> Iterator[Candidate]:
    from reporter.kube.credentials import context_names
    from reporter.kube.errors import ConfigurationError

    try:
        yield from ((each, "") for each in context_names(None))
    except ConfigurationError:
        return  # an error message would disturb the command line


def _reasons(_: Sequence[str]) -> Iterator[Candidate]:
    from reporter.stacks import BUILT_IN

    yield from ((each.name, each.summary) for each in BUILT_IN)


def _parts(_: Sequence[str]) -> Iterator[Candidate]:
    from reporter.stacks.settings import FullEvaluationSettings

    for name in FullEvaluationSettings.known_parts():
        yield from ((f"{name}={mode}", "") for mode in ("auto", "on", "off"))


def _namespaces(before: Sequence[str]) -> Iterator[Candidate]:
    from reporter.cli.cluster import namespaces
    from reporter.kube.errors import KubeError

    given = dict(pairwise(part for word in before for part in word.split("=", 1)))
    try:
        found = asyncio.run(namespaces(given.get("--kubeconfig"), given.get("--context")))
    except (KubeError, TimeoutError):
        return
    yield from ((each, "") for each in found)


def _graced(_: Sequence[str]) -> Iterator[Candidate]:
    from reporter.setting_types import BUDGETS

    named = (*_reasons(()), *((each, "a budget") for each in BUDGETS))
    yield from ((f"{name}=", meaning) for name, meaning in named)


_NAMES: Final[dict[str, Callable[[Sequence[str]], Iterable[Candidate]]]] = {
    "context": _contexts,
    "reason": _reasons,
    "explain": _reasons,
    "REASON": _reasons,
    "grace": _graced,
    "components": _parts,
    "namespace": _namespaces,
    "NAMESPACE": _namespaces,
}
"""Sources of candidates, by the argument's `dest` or its metavar."""


def _parser_of(command: str, main_of: Callable[[str], Callable[..., int]]) -> Parser | None:
    """Return the parser of a command; None if it has none of ours, or is not installed."""
    try:
        module = import_module(main_of(command).__module__)
        found: Callable[[], Parser] | None = getattr(module, "command_parser", None)
    except (ImportError, UsageError):
        return None
    return found() if found is not None else None


_BASH: Final = """\
# bash completion of status-reporter
_status_reporter() {
    local IFS=$'\\n' line files=1
    COMPREPLY=()
    while read -r line; do
        case "$line" in
            :4) files=0 ;;
            :*) ;;
            *) COMPREPLY+=("${line%%$'\\t'*}") ;;
        esac
    done < <(status-reporter __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [ "$files" = 1 ]; then
        COMPREPLY+=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}
complete -o filenames -F _status_reporter status-reporter
"""

_ZSH: Final = """\
#compdef status-reporter
_status_reporter() {
    local line files=1
    local -a found
    while IFS= read -r line; do
        case "$line" in
            :4) files=0 ;;
            :*) ;;
            *) found+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}") ;;
        esac
    done < <(status-reporter __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
    _describe 'status-reporter' found
    (( files )) && _files
}
compdef _status_reporter status-reporter
"""

_FISH: Final = """\
# fish completion of status-reporter
function __status_reporter_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l found (status-reporter __complete $words[2..-1] 2>/dev/null)
    if test "$found[-1]" != ":4"
        __fish_complete_path (commandline -ct)
    end
    string match -v -r '^:' -- $found
end
complete -c status-reporter -f -a '(__status_reporter_complete)'
"""

_SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}

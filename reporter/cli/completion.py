"""Completion of command lines, for shells and for kubectl.

Shells ask us on each Tab: `status-reporter __complete WORD...`, with the words after the program's name
of which the last one, which may be empty, is being typed. The answer is a candidate on each line with
what it means behind a tab, and `:4` or `:0` at the end: no file names, or file names too. That is the
protocol of cobra (spf13/cobra, completions.go), by which kubectl asks plugins: it runs
`kubectl_complete-status_reporter` (Kubernetes, kubectl/pkg/cmd/plugin/plugin_completion.go, v1.26).

Why no library: argcomplete 3 knows neither that protocol nor commands that are loaded when they are
asked for, and each shell must load its own script first; shtab 1.7 writes scripts for bash, zsh and tcsh, not for
fish, and knows no names of contexts and reasons. The scripts here are a few lines each.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
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
"""A word, and what it means."""


def main(argv: Sequence[str]) -> int:
    """Print the script for a shell."""
    parser = command_parser()
    shell = parser.parse(argv).shell
    sys.stdout.write(_SCRIPTS[shell])
    return 0


def command_parser() -> Parser:
    """Return the parser of `completion`."""
    parser = Parser(
        "completion",
        "Print the script that completes command lines in a shell.",
        arguments="SHELL",
        examples=_EXAMPLES,
    )
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    return parser


def complete(words: Sequence[str]) -> int:
    """Print what may be typed at the end of a command line of the program."""
    if len(words) <= 1:
        from reporter.cli.main import known_commands

        _answer(known_commands().items(), (words or [""])[-1], files=False)
        return 0
    parser = _parser_of(words[0])
    if parser is None:
        sys.stdout.write(f"{_FILES}\n")
        return 0
    return complete_flags(parser, words[1:])


def complete_plugin(words: Sequence[str]) -> int:
    """Print what may be typed at the end of a command line of the kubectl plugin."""
    from reporter.cli.kubectl import parser

    return complete_flags(parser(), words)


def program() -> int:
    """Answer kubectl; the entry point of `kubectl_complete-status_reporter`."""
    return complete_plugin(sys.argv[1:])


def complete_flags(parser: Parser, words: Sequence[str]) -> int:
    """Print the flags of a command, or the values of the one before."""
    *before, word = words or [""]
    flags = {name: each for each in parser.visible() for name in each.option_strings}
    name, equals, start = word.partition("=")
    action = flags.get(name) if equals else flags.get(before[-1]) if before else None
    if action is not None and action.nargs != 0:
        prefix = f"{name}=" if equals else ""
        _values(action, start if equals else word, prefix)
    elif word.startswith("-"):
        _answer(((flag, _short(each)) for flag, each in flags.items()), word, files=False)
    else:
        positional = next((each for each in parser.visible() if not each.option_strings), None)
        _values(positional, word, "")
    return 0


def _values(action: argparse.Action | None, word: str, prefix: str) -> None:
    if action is None:
        _answer((), word, files=False)
        return
    metavar = str(action.metavar or "")
    found: Iterable[Candidate] = [(str(each), "") for each in action.choices or ()]
    if not found and "|" in metavar:
        found = [(each, "") for each in metavar.split("|")]
    elif action.dest in _NAMES:
        found = [*_NAMES[action.dest]()]
    named = ((f"{prefix}{each}", meaning) for each, meaning in found)
    _answer(named, f"{prefix}{word}", files=metavar in _PATHS)


def _answer(candidates: Iterable[Candidate], word: str, *, files: bool) -> None:
    fitting = [each for each in candidates if each[0].startswith(word)]
    lines = [f"{name}\t{meaning}" if meaning else name for name, meaning in fitting]
    sys.stdout.write("\n".join([*lines, _FILES if files else _NO_FILES]) + "\n")


def _short(action: argparse.Action) -> str:
    """Return the beginning of what a flag means."""
    return (action.help or "").replace("%%", "%").split(";")[0].split(": ")[0]


def _contexts() -> Iterator[Candidate]:
    from reporter.kube.credentials import context_names
    from reporter.kube.errors import ConfigurationError

    try:
        yield from ((each, "") for each in context_names(None))
    except ConfigurationError:
        return  # somebody is typing; there is nobody to tell


def _reasons() -> Iterator[Candidate]:
    from reporter.stacks import BUILT_IN

    yield from ((each.name, each.summary) for each in BUILT_IN)


_NAMES: Final[dict[str, Callable[[], Iterator[Candidate]]]] = {
    "context": _contexts,
    "reason": _reasons,
    "explain": _reasons,
}
"""What has names of its own to offer, by where argparse puts it."""


def _parser_of(command: str) -> Parser | None:
    """Return the parser of a command; None where it has none of ours to show, or is not installed."""
    from reporter.cli.main import main_of

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

"""`appell completion SHELL`: completion of commands, options and robots for bash, zsh and fish."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

from appell.cli.common import Command


class Completions(NamedTuple):
    """Completions of one command: options, options with a value, their choices, words for positional arguments."""

    help: str
    options: tuple[str, ...]
    valued: tuple[str, ...]
    choices: dict[str, tuple[str, ...]]
    arguments: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(SCRIPTS), help="shell of the script")
    parser.epilog = 'For bash, add to ~/.bashrc:  eval "$(appell completion bash)"'


def run(arguments: argparse.Namespace) -> None:
    print(SCRIPTS[arguments.shell](completions(arguments.parser)))


def completions(parser: argparse.ArgumentParser) -> dict[str, Completions]:
    """Completions of every command."""
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    helps = {action.dest: action.help or "" for action in commands._choices_actions}
    return {name: _completions(helps[name], own) for name, own in commands.choices.items()}


def _completions(text: str, parser: argparse.ArgumentParser) -> Completions:
    options, valued, choices, arguments = [], [], {}, []
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        values = tuple(map(str, action.choices or ()))
        if not action.option_strings:
            arguments += [*values, *_named_arguments().get(action.dest, ())]
            continue
        options += [name for name in action.option_strings if name.startswith("--")]
        if action.nargs != 0:
            valued += action.option_strings
            choices.update(dict.fromkeys(action.option_strings, values))
    return Completions(text, tuple(options), tuple(valued), choices, tuple(arguments))


def _named_arguments() -> dict[str, tuple[str, ...]]:
    """Words for positional arguments by their name."""
    from appell.loading.catalogue import names
    from appell_lab.reproduce import PAPERS

    return {"robot": names(), "file": names(), "paper": (*PAPERS, "all")}


def bash(commands: dict[str, Completions]) -> str:
    """A completion function for bash; file names complete wherever a path is possible."""
    cases = []
    for name, words in commands.items():
        values = "".join(
            f'        {option}) COMPREPLY=($(compgen -W "{" ".join(values)}" -- "$cur")); return;;\n'
            for option, values in words.choices.items()
            if values
        )
        files = "|".join(option for option in words.valued if not words.choices[option])
        values += f'        {files}) COMPREPLY=($(compgen -f -- "$cur")); return;;\n' if files else ""
        cases.append(
            f'    {name})\n      case "$prev" in\n{values}        *) ;;\n      esac\n'
            f'      if [[ "$cur" == -* ]]; then COMPREPLY=($(compgen -W "{" ".join(words.options)}" -- "$cur"))\n'
            f'      else COMPREPLY=($(compgen -f -W "{" ".join(words.arguments)}" -- "$cur")); fi;;'
        )
    return (
        "_appell() {\n"
        '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"\n'
        "  COMPREPLY=()\n"
        "  if (( COMP_CWORD == 1 )); then\n"
        f'    COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$cur")); return\n  fi\n'
        '  case "${COMP_WORDS[1]}" in\n' + "\n".join(cases) + "\n  esac\n}\ncomplete -o filenames -F _appell appell"
    )


def zsh(commands: dict[str, Completions]) -> str:
    """The same for zsh, which runs completion functions of bash."""
    return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + bash(commands)


def fish(commands: dict[str, Completions]) -> str:
    """Completions for fish."""
    lines = [
        "complete -c appell -n __fish_use_subcommand -l help",
        "complete -c appell -n __fish_use_subcommand -l version",
    ]
    for name, words in commands.items():
        lines.append(f"complete -c appell -f -n __fish_use_subcommand -a {name} -d {_quoted(words.help)}")
        here = f"complete -c appell -n '__fish_seen_subcommand_from {name}'"
        if words.arguments:
            lines.append(f"{here} -a {_quoted(' '.join(words.arguments))}")
        for option in words.options:
            values = words.choices.get(option, ())
            given = f" -x -a {_quoted(' '.join(values))}" if values else (" -r" if option in words.valued else "")
            lines.append(f"{here} -l {option.removeprefix('--')}{given}")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SCRIPTS: dict[str, Callable[[dict[str, Completions]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}

COMMAND = Command("completion", "print a completion script for bash, zsh or fish", add_arguments, run, json=False)

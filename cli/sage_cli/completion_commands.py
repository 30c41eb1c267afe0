"""`sage completion`: prints a script with which a shell completes commands, options and the names of symbols.

The script contains all commands and options. A shell asks Sage only for symbols, which `sage grep` lists in
milliseconds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import typer

# Commands whose argument is the name of a symbol.
_SYMBOLS = ("grep", "analyze", "refs", "callers", "callees", "impact", "similar", "why")


class Shell(StrEnum):
    """The supported shells."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


class _Command(NamedTuple):
    words: str  # `grep`, `config set`; empty for `sage` itself
    help: str
    options: tuple[str, ...]


def completion(
    context: typer.Context, shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")]
) -> None:
    """Print a script that completes Sage's commands, options and symbols in your shell.

    Example:  sage completion bash > ~/.local/share/bash-completion/completions/sage

    Example:  sage completion zsh >> ~/.zshrc

    Example:  sage completion fish > ~/.config/fish/completions/sage.fish
    """
    commands = _commands(context.find_root().command, "")
    print(_fish(commands) if shell is Shell.FISH else _bash(commands, zsh=shell is Shell.ZSH), end="")


def _commands(command: Any, words: str) -> list[_Command]:
    """A command of Typer, called by `words`, and all below it."""
    options = (name for one in command.params for name in (*one.opts, *one.secondary_opts) if name.startswith("-"))
    found = [_Command(words, (command.get_short_help_str(100) or "").rstrip("."), tuple(sorted({*options, "--help"})))]
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            found += _commands(inner, f"{words} {name}".strip())
    return found


def _next_words(commands: list[_Command], words: str) -> list[str]:
    """The words that may follow these."""
    lead = f"{words} " if words else ""
    following = (one.words.removeprefix(lead).partition(" ")[0] for one in commands if one.words.startswith(lead))
    return list(dict.fromkeys(word for word in following if word))


def _bash(commands: list[_Command], *, zsh: bool) -> str:
    """The script for bash; zsh reads the same after a first line of its own."""
    cases = []
    for one in commands:
        known = " ".join([*_next_words(commands, one.words), *one.options])
        cases.append(f"    '{one.words}') known='{known}' ;;")
    cut = max(len(one.words.split()) for one in commands)
    return f"""\
{"autoload -U +X compinit bashcompinit && compinit && bashcompinit" if zsh else "# bash completion for sage"}
_sage() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command='' name='' at
  for ((at = 1; at < COMP_CWORD && at <= {cut}; at++)); do
    case "${{COMP_WORDS[at]}}" in
    -*) break ;;
    esac
    case "$(_sage_known "$command ${{COMP_WORDS[at]}}")" in
    '') break ;;
    esac
    command="${{command:+$command }}${{COMP_WORDS[at]}}"
  done
  COMPREPLY=($(compgen -W "$(_sage_known "$command")" -- "$current"))
  case "$command:$current" in
  *:-*) ;;
  {"|".join(f"{name}:?*" for name in _SYMBOLS)})
    # Names come from any project: one that a shell would not take for a plain word is left out.
    while IFS= read -r name; do
      case "$name" in *[!A-Za-z0-9_.]*) ;; *) COMPREPLY+=("$name") ;; esac
    done < <(sage grep "$current" --names --prefix --limit 200 2>/dev/null) ;;
  esac
}}
_sage_known() {{
  local known=''
  case "${{1# }}" in
{chr(10).join(cases)}
  esac
  printf '%s' "$known"
}}
complete -o default -F _sage sage
"""


def _fish(commands: list[_Command]) -> str:
    """The script for fish."""
    lines = ["# fish completion for sage"]
    for one in commands:
        words = one.words.split()
        following = _next_words(commands, one.words)
        here = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in words)
        if following:
            rest = f"not __fish_seen_subcommand_from {' '.join(following)}"
            where = f"{here}; and {rest}" if here else "__fish_use_subcommand"
            helps = {inner.words: inner.help for inner in commands}
            for word in following:
                text = helps.get(f"{one.words} {word}".strip(), "").replace("\\", "").replace("'", "")
                lines.append(f"complete -c sage -f -n '{where}' -a '{word}' -d '{text}'")
        for option in one.options if here else ():
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            lines.append(f"complete -c sage -n '{here}' {flag}")
    names = "(sage grep (commandline -ct) --names --prefix --limit 200 2>/dev/null)"
    lines.append(f"complete -c sage -n '__fish_seen_subcommand_from {' '.join(_SYMBOLS)}' -a '{names}'")
    return "\n".join(lines) + "\n"

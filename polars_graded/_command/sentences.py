"""Rewrite messages for the command: options in place of arguments."""

from __future__ import annotations

import ast
import re
import shlex
from typing import Any

from polars_graded._checks import format_on_one_line
from polars_graded._command.parser import OPTIONS

ARGUMENT_PATTERN = re.compile(r"\b([a-z_]+)=(\{[^{}]*\}|\[[^\[\]]*\]|'[^']*'|[\w.+-]+)")
"""Pattern of an argument with a literal value, such as `descending={'old_rank': False}`."""


def write_for_the_shell(error: Exception | Warning | str) -> str:
    """Return a message and its hint on one line, with options in place of arguments.

    Arguments that the command cannot express as options stay as they are. For an error of the
    operating system, the message is the reason and the name of the file.
    """
    if isinstance(error, OSError):
        has_file = error.strerror and error.filename
        return f"{error.strerror}: {error.filename}" if has_file else str(error)
    return ARGUMENT_PATTERN.sub(_write_option, format_on_one_line(error).split("\n", maxsplit=1)[0])


def _write_option(argument: re.Match[str]) -> str:
    """Return the option for an argument, or the argument if there is none."""
    name, text = argument.groups()
    option = f"--{name.replace('_', '-')}"
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return argument[0]
    if name == "ties" and value not in OPTIONS["--ties"].settings["choices"]:
        option = "--doc"  # any other value of `ties` is the column of documents
    if name == "missing" and value == "drop":
        return "--undefined-as none"  # --missing is for gates only
    choices = OPTIONS[option].settings.get("choices") if option in OPTIONS else ()
    if option not in OPTIONS or (choices and value not in choices):
        return argument[0]
    if value is True and OPTIONS[option].settings.get("action") == "store_true":
        return option
    if isinstance(value, bool) and option != "--descending":
        return argument[0]
    value_text = _write_value(name, value)
    return argument[0] if value_text is None else f"{option} {value_text}"


def _write_value(name: str, value: Any) -> str | None:
    """Return a value as text, or None if the command cannot read it."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is ...:
        return "..."
    if value is None:
        return "none" if name == "undefined_as" else None
    if isinstance(value, dict):
        are_flags = all(isinstance(each, bool) for each in value.values())
        parts = [f"{key}={str(each).lower()}" for key, each in value.items()]
        return shlex.join(parts) if are_flags else None
    if isinstance(value, list):
        return shlex.join(value) if all(isinstance(each, str) for each in value) else None
    return shlex.quote(str(value))

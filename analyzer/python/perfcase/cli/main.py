"""Build the application. Turn every error into one line on standard error and a fixed exit code."""

from __future__ import annotations

import ast
import gc
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from typer import exceptions as typer_exceptions

import perfcase
from perfcase.errors import EXIT_CODES, FOUND, KIND_MEANINGS, PerfcaseError
from perfcase.text import safe, width

COMMANDS = (
    "record", "import", "symbolize", "report", "findings", "diff", "summary", "sql", "view", "views", "flamegraph", "annotate", "export",
    "tables", "events", "info", "redact", "reveal", "history", "fleet", "attach", "open", "serve",
)  # fmt: skip
"""Every command is perfcase/cli/<name>_command.py with a function ``command``."""
_WITHOUT_CAPTURE = ("record", "views", "reveal", "open", "serve")
"""Commands that ask no capture anything."""

_FIRST_STEPS = """
Record a host, copy the file away, ask any question about it.

\b
  perfcase record --duration 30 -o incident.perfcase     on the host that has the problem
  perfcase open incident.perfcase                        on any machine: all of it, in a browser
  perfcase report incident.perfcase                      the first five minutes of an investigation
  perfcase view thread_time incident.perfcase            one view; perfcase views lists all of them
  perfcase sql incident.perfcase "SELECT …"              any question; perfcase tables lists the tables

FILE is a .perfcase archive, a perf.data, a trace.dat, a recorder's folder, or an imported folder (NAME.case). The first
command imports it into the folder NAME.case beside it. Later commands reuse this folder.
"""


def exit_code_help() -> str:
    """Return the exit codes, for --help."""
    codes = ", ".join(f"{code} {KIND_MEANINGS[kind]}" for kind, code in EXIT_CODES.items())
    return f"Exit codes: 0 success, {codes}; {FOUND} perfcase findings --fail-on found something."


def build_app(commands: Sequence[str] = COMMANDS, listed: Sequence[str] = ()) -> typer.Typer:
    """Build the application with these commands. The ``listed`` ones have only the description that the list of commands shows."""
    app = typer.Typer(
        name="perfcase",
        no_args_is_help=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    )
    app.callback(invoke_without_command=True)(_root)
    if commands:
        # Loaded here: the list of commands needs none of it.
        from perfcase.cli import options
    for name in commands:
        module = import_module(f"perfcase.cli.{name}_command")
        command = module.command if name in _WITHOUT_CAPTURE else options.with_memory(module.command)
        app.command(name, context_settings=getattr(module, "CONTEXT_SETTINGS", None))(command)
    for name in listed:
        app.command(name, help=_docstring(name))(lambda: None)
    return app


def _docstring(name: str) -> str | None:
    """Return the description of a command. The file is parsed and not loaded, because loading all of them is slow."""
    parsed = ast.parse(Path(__file__).with_name(f"{name}_command.py").read_bytes())
    functions = (node for node in parsed.body if isinstance(node, ast.FunctionDef) and node.name == "command")
    return next(map(ast.get_docstring, functions), None)


def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        sys.stdout.write(f"perfcase {perfcase.__version__}\n")
        raise typer.Exit
    if context.invoked_subcommand is None:
        sys.stdout.write(context.get_help() + "\n")


_root.__doc__ = f"{_FIRST_STEPS}\n{exit_code_help()}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    # What is loaded by now stays: no collection needs to look at it, least of all the one at the end.
    gc.freeze()
    # A reader such as head may close the pipe. Then end without a message, as other tools do.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """Run a command line and return the exit code."""
    try:
        code = _app(arguments)(args=arguments, prog_name="perfcase", standalone_mode=False)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer_exceptions.Abort):
        return _fail(PerfcaseError("interrupted", "interrupted"))
    except typer_exceptions.Exit as stop:
        return stop.exit_code
    except typer_exceptions.TyperException as error:
        return _fail(_usage(error))
    except Exception as error:
        # Loaded here: most go well, and the list of commands has no capture.
        from perfcase.case.failures import failure, fault

        if shown := failure(error, arguments):
            return _fail(shown)
        if os.environ.get("PERFCASE_DEBUG"):
            raise
        return _fail(fault(error))
    return code if isinstance(code, int) else 0


def _app(arguments: list[str]) -> typer.Typer:
    """Build the application with the requested command only, if possible. Loading all modules takes longer than most commands run."""
    if any(name.startswith("_PERFCASE") for name in os.environ):
        # The shell asks for completions.
        return build_app()
    if arguments in ([], ["-h"], ["--help"], ["--version"]):
        return build_app([], listed=COMMANDS)
    return build_app(arguments[:1] if arguments[0] in COMMANDS else COMMANDS)


def _usage(error: Exception) -> PerfcaseError:
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "perfcase"
    return PerfcaseError("usage", message.rstrip("."), f"see {where} --help")


def _fail(error: PerfcaseError) -> int:
    """Print ``perfcase: message (hint)`` on one line, and below it what there is to choose from."""
    text = safe(str(error))
    red, plain = ("\x1b[31m", "\x1b[0m") if sys.stderr.isatty() and "NO_COLOR" not in os.environ else ("", "")
    sys.stderr.write(f"{red}perfcase:{plain} {text}\n")
    rows = [[safe(cell) for cell in row] for row in error.rows]
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        line = "  ".join(cell + " " * (wide - width(cell)) for cell, wide in zip(row, widths, strict=True))
        sys.stderr.write(f"  {line.rstrip()}\n")
    return error.exit_code

"""perfcase redact: a capture with pseudonyms in place of names, addresses and arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from perfcase.case.place import locked
from perfcase.cli.common import capture_progress, local_file, opened
from perfcase.operations.result import say
from perfcase.redaction.archive import check, redact
from perfcase.redaction.private import read_rules
from perfcase.redaction.pseudonyms import Pseudonyms
from perfcase.terminal.render import console
from perfcase.text import safe

_REMOVED = {
    "samples_with_memory": "samples that lost the copy of a stack or of registers; the callers that were found in it stay",
    "events_without_format": "parts without a format that says what their bytes are (unknown events, programs of BPF, traces of the processor): the bytes are zeros now",
    "properties": "properties of the manifest that this version does not know: they are left out",
}


def command(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A .perfcase archive, a perf.data or a trace.dat, or its URL.",
            show_default=False,
            parser=local_file,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="The archive to write.", show_default=False)
    ],
    rules: Annotated[
        Path | None,
        typer.Option(
            "--rules",
            metavar="RULES",
            help="What else is private: a file with lines such as path /opt/acme (what is below it), path /srv/*/data (* is any "
            "part, and private), word TEXT, or public /opt/jdk (functions of programs below it keep their names).",
        ),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key",
            metavar="KEY",
            help="The key file. If it exists, the pseudonyms are those of its key, so two captures can be compared. "
            "Default: OUT.key. It stays with you: who has it can translate every pseudonym back.",
        ),
    ] = None,
) -> None:
    """Write FILE with pseudonyms in place of private data, and a key that translates them back.

    Names of the host, users, control groups and containers, addresses, arguments, paths below homes, texts of events, the
    kernel's log, notes, and names of functions are replaced, those of the kernel and of the distribution's programs are not. The
    kernel's addresses are moved. Copies of stacks are removed; the callers in them stay. All answers stay the same otherwise.
    perfcase info --private shows what FILE holds. Standard error says what is still in OUT: look at it before you send OUT. OUT
    is searched for every value before it is there. perfcase reveal translates an answer back.

    Example: perfcase redact incident.perfcase -o redacted.perfcase
    """
    key_file = key or output.with_name(output.name + ".key")
    check(file, output, key_file)
    chosen = read_rules(rules)
    # Two with one key: the second one knows the values of the first.
    with locked(key_file):
        pseudonyms = Pseudonyms.read(key_file) if key_file.exists() else Pseudonyms.new()
        with opened(file) as case, capture_progress() as progress:
            done = redact(case, file, output, key_file, pseudonyms, chosen, progress)
    out = console()
    for name, count in done.counts.items():
        out.print(f"{name:<14} {count:>7,} values", markup=False, highlight=False)
    out.print(f"the key is {safe(str(key_file))}: keep it, and do not send it", markup=False, soft_wrap=True)
    if done.left:
        say(f"{output.name} still holds: {'; '.join(done.left)}")
    if done.ordinary:
        say(
            f"{done.ordinary:,} values are ordinary words or short: they are replaced where the format says what they are, and not "
            "searched for elsewhere"
        )
    for name, text in _REMOVED.items():
        if count := done.removed[name]:
            say(f"removed: {count:,} {text}")
    for name in done.named:
        say(f"names of functions are left in it, because it is more than a table of them: {safe(name)}")
    for name in done.sealed:
        say(f"not searched, because it has compressed sections, which can name paths: {safe(name)}")
    for name in done.dropped:
        say(f"left out, because nobody knows what it holds: {safe(name)}")

"""The shell completes commands, views and options, and --help tells of every option."""

from __future__ import annotations

import pytest

from perfcase.catalogue.views import load_views
from perfcase.cli.main import COMMANDS
from tests.support.cli import process, succeed


def completed(words: str) -> list[str]:
    """What bash would offer for the last word."""
    count = str(len(words.split(" ")) - 1)
    done = process(_PERFCASE_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=count)
    return done.stdout.split()


def test_commands_views_and_options() -> None:
    assert set(COMMANDS) <= set(completed("perfcase "))
    assert completed("perfcase view thread_t") == ["thread_time"]
    assert set(load_views()) <= set(completed("perfcase view "))
    assert completed("perfcase view --no-p") == ["--no-plot"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help(command: str) -> None:
    told = succeed(command, "--help")
    assert told.startswith("usage: perfcase-record" if command == "record" else f"Usage: perfcase {command} ")
    if command == "view":
        for option in ("--where", "--order", "--limit", "--format", "--output", "--plot / --no-plot"):
            assert option in told

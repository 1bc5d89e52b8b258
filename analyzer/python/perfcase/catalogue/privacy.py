"""Which columns hold private data, as ``schema/privacy.toml`` says: the classes of private data, and where each stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from perfcase.catalogue.schema import load_tables, schema_dir
from perfcase.text import safe

EVENT_TEXT = "event_text"
"""The class of text in tables that ``schema/`` does not know."""

# What is said before a capture is sent that is not redacted. The page has the same words, by scripts/page_types.py.
NOT_REDACTED = "{name} is not redacted."
HOLDS = "It holds: {titles}"
SHOWN_BY = "perfcase info --private {name} shows which private data it holds"
REMEDY = "perfcase redact {name} -o OUT replaces them"


@dataclass(frozen=True)
class Class:
    """A class of private data."""

    name: str
    title: str
    stands: str
    """Where its values can stand."""
    done: str
    """What redaction does to them."""
    columns: tuple[str, ...]
    left: str = ""
    """Which values of it redaction leaves in the file, if any."""


@dataclass(frozen=True)
class Privacy:
    """The classes, and the class of each column."""

    classes: dict[str, Class]
    public: frozenset[str]
    kept_words: frozenset[bytes]
    """Words of the kernel's log that rules look for."""
    kept_symbols: re.Pattern[str]
    """Names of functions that stay in private objects."""
    public_folders: tuple[bytes, ...]
    """Folders of distributions: objects in them are public."""
    private_folders: tuple[bytes, ...]
    """Folders below those in which objects are private all the same."""

    def class_of(self, table: str, column: str) -> str | None:
        """Return the class of a column of a table or view; None: it is public.

        Raises:
            KeyError: nobody has said it.
        """
        for name in (f"{table}.{column}", column):
            if name in self.public:
                return None
            for each in self.classes.values():
                if name in each.columns:
                    return each.name
        if table not in load_tables() and table not in _views():
            return EVENT_TEXT
        raise KeyError(f"{table}.{column}")


@cache
def _views() -> frozenset[str]:
    return frozenset(path.stem for path in (schema_dir() / "views").glob("*/*.sql"))


@cache
def load_privacy() -> Privacy:
    """Return what ``schema/privacy.toml`` says."""
    found = tomllib.loads((schema_dir() / "privacy.toml").read_text(encoding="utf-8"))
    classes = [Class(**{**each, "columns": tuple(each["columns"])}) for each in found["class"]]
    return Privacy(
        {each.name: each for each in classes},
        frozenset(found["public"]),
        frozenset(map(str.encode, found["kept_words"])),
        re.compile("|".join(re.escape(name).replace(r"\*", ".*") for name in found["kept_symbols"]), re.DOTALL),
        tuple(map(str.encode, found["public_folders"])),
        tuple(map(str.encode, found["private_folders"])),
    )


def unredacted(name: str, titles: Sequence[str] = ()) -> str:
    """Return what to say before a capture is sent that is not redacted. Without ``titles`` nobody knows what it holds."""
    known = HOLDS.format(titles="; ".join(titles)) if titles else SHOWN_BY
    return f"{NOT_REDACTED} {known} ({REMEDY})".replace("{name}", safe(name))


def page() -> str:
    """Return ``docs/privacy.md``."""
    classes = load_privacy().classes.values()
    rows = "\n".join(f"| {each.title} | `{each.name}` | {each.stands} | {each.done} |" for each in classes)
    left = "\n".join(f"- {each.title}: {each.left}." for each in classes if each.left)
    columns = "\n".join(f"| `{each.name}` | {_columns(each)} |" for each in classes)
    folders, others = (
        ", ".join(f"`{folder.decode()}`" for folder in each)
        for each in (load_privacy().public_folders, load_privacy().private_folders)
    )
    return _PAGE.format(rows=rows, left=left, columns=columns, folders=folders, others=others)


def _columns(each: Class) -> str:
    return ", ".join(f"`{column}`" for column in each.columns) or "text of tables that `schema/` does not know"


_PAGE = """# Private data

A capture of a host holds names, addresses and arguments that its owner may not want to give away. Look before you send it:

```
$ perfcase info --private incident.perfcase                  # what is in it, with counts and examples
$ perfcase redact incident.perfcase -o redacted.perfcase     # pseudonyms; it writes redacted.perfcase.key, too: keep that file
$ perfcase report redacted.perfcase | perfcase reveal --key redacted.perfcase.key -     # pseudonyms to names
```

`info --private` shows for each class how many different values the tables hold, and up to three of them. It reads tables: a copy of
a stack or an address of the kernel that became no row is in the file all the same.

`redact` puts a pseudonym in the place of each value. The same value has the same pseudonym everywhere in the capture, and in every
capture that is redacted with the same key (`--key`). The key file holds the key and all values: who has it can translate everything
back. Every answer of a redacted capture is that of the original, with pseudonyms in place of values; only copies of stacks and registers
have no rows any more. A test compares every table, view and finding of every sample capture. `redact` reads its own output again,
decompressed, and fails without a file where it finds a value.

| class | name | where it can stand | what `redact` does |
|---|---|---|---|
{rows}

Names of programs and threads (`comm`), paths outside of homes, kernel release, devices, interfaces and the counts and times of
everything are public: without them no answer is left. A test holds that each column with text has a class or is public.

## What redaction leaves in

`redact` names the members in which something is left. The manifest's `redacted` lists the classes, and `perfcase info --private` of the redacted
file prints them:

{left}

## Names of functions

The names of functions in an object are private, unless the object is of the distribution: it lies in {folders}, and
neither in {others} nor below a home or a path of `--rules`. If a file has several paths, one private path is enough. Perf
maps, the names of code that a runtime generated, lie in `/tmp`, so they are private. The kernel and its modules are public. Two rules change
that: `path /usr/lib/acme` makes the objects below a folder private, and their paths, too; `public /opt/jdk` makes the names in them public,
`public /tmp` those in perf maps.

A pseudonym is as long as the name that people see, so flame graphs have the same widths. `reveal` translates it back. These
names stay: those that code of a public object has in a callchain of this capture, because an answer adds both up; those that a private object
calls in a public one; those that rules look for (`kept_symbols` in `schema/privacy.toml`); and those of three bytes or fewer.

Redaction writes each table of symbols again, also the compressed one in `.gnu_debugdata`, and copies only headers, numbers, unwind tables, the
build id and the path of the loader to the new file. Everything else becomes zeros: names of data and libraries, other notes, the
program's own names of sections, gaps. A line of a perf map that perfcase cannot read becomes empty. A name is searched for in all other members if it is no
ordinary word (see below) and no public object has it.

## What is an ordinary word

A host may be called `guest`, an argument may be `record`. Such a word also stands where it means something else, in the names of the
kernel's functions, say. It is replaced only where the format says what it is. A value is searched for in all other bytes if it has
12 bytes or more, or 8 with a capital letter, a digit or a sign; if it is more than a number; and if it is no value of a public column.
`redact` says how many values were not. A rule `word TEXT` has a text searched for whatever it is.

A pseudonym is as long as its value, so that it fits into the records of perf.data and ftrace. An address may be longer or shorter in
text; in a member in which nothing may move it then has another pseudonym.

What sorts by text may choose another row among equals: a pseudonym does not keep the order of its values.

## Rules

`--rules FILE` has a rule on each line: `path PREFIX` for paths below a folder (`*` stands for any part and is private itself), `word
TEXT` for a text that is private wherever it stands, `public PREFIX` for a folder whose objects have names of functions that are public.
`public` counts more than `path`. Lines that begin with `#` are remarks.

## Files of perf and trace-cmd

`perfcase redact` takes a perf.data and a trace.dat, too, and makes an archive of it: it can say of itself that it is redacted. perf and trace-cmd read the
member. Records that are compressed inside (`perf record -z`, trace-cmd's default) are written without that compression; a stream (`perf record -o -`)
stays one. What perf saves of BPF programs, and traces of the processor (AUX), become zeros: nothing in perfcase reads them, and they hold addresses.

perf's own options stay, with the events. The words of the command that it recorded are arguments, and so are the values of `--cgroup` and `--filter`.

## What is refused

Damaged captures: what cannot be read cannot be searched. A folder of `perf record --threads`, a recording of simpleperf, and a latency trace of
trace-cmd, which is text.

## Before it is sent

`perfcase attach` says which classes a capture holds that is not redacted. The dialog of the page and `perfcase.Client` say that it is not, from
its manifest: what it holds is known when it is imported.

`perfcase serve --only-redacted` takes only captures whose manifest says that they are redacted; anyone can write that into a manifest, so it
prevents a mistake and no intent. The page and `perfcase.Client` tell the server what the manifest says before they send anything. A server
looks for itself when the first MiB is there, or the first part that is sent.

## Columns

| class | columns |
|---|---|
{columns}
"""

"""Which columns hold private data, as ``schema/privacy.toml`` says: the classes of private data, and where each stands."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache

from perfcase.catalogue.schema import load_tables, schema_dir

EVENT_TEXT = "event_text"
"""The class of text in tables that ``schema/`` does not know."""


@dataclass(frozen=True)
class Class:
    """A class of private data."""

    name: str
    title: str
    stands: str
    """Where its values can stand."""
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Privacy:
    """The classes, and the class of each column."""

    classes: dict[str, Class]
    public: frozenset[str]

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
    return Privacy({each.name: each for each in classes}, frozenset(found["public"]))


def page() -> str:
    """Return ``docs/privacy.md``."""
    classes = load_privacy().classes.values()
    rows = "\n".join(f"| {each.title} | `{each.name}` | {each.stands} | {_columns(each)} |" for each in classes)
    return _PAGE.format(rows=rows)


def _columns(each: Class) -> str:
    return ", ".join(f"`{column}`" for column in each.columns) or "text of tables that `schema/` does not know"


_PAGE = """# Private data

A capture of a host holds names, addresses and arguments that its owner may not want to give away. Look before you send it:

```
$ perfcase info --private incident.perfcase
```

For each class it shows how many different values the tables hold, and up to three of them. It reads tables: a copy of a stack or an
address of the kernel that became no row is in the file all the same. perfcase does not replace anything.

| class | name | where it can stand | columns |
|---|---|---|---|
{rows}

Names of programs and threads (`comm`), paths outside of homes, kernel release, devices, interfaces and the counts and times of
everything are public. A test holds that each column with text has a class or is public.
"""

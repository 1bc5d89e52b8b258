"""A request of an operation for some captures, as routes make it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from perfcase.operations.request import BaseRequest, encode, operation_of

ROWS = 1000
"""The default number of rows of a route, if the operation has none."""
FORMAT = "json"
"""The default format of a route."""


@dataclass(frozen=True)
class Question:
    """A request of an operation, for some captures."""

    request: BaseRequest
    captures: Sequence[str]
    """Their ids."""
    stores: Sequence[str] = ()
    """The ids of captures for a history or a baseline."""
    only: Sequence[str] = ()
    """The part of the captures (perfcase.case.scope)."""

    def order(self) -> dict[str, Any]:
        """Return it for perfcase_api.analysing, with folders relative to the one in which processes work."""
        return {
            "operation": operation_of(self.request),
            "request": encode(self.request),
            "captures": [f"{capture_id}/case" for capture_id in self.captures],
            "stores": [f"{capture_id}/case" for capture_id in self.stores],
            "only": list(self.only),
        }

    @property
    def of(self) -> list[str]:
        """Return the ids of all captures in it."""
        return [*self.captures, *self.stores]

    @property
    def key(self) -> str:
        """Return a text that identifies the question."""
        return json.dumps(self.order(), sort_keys=True)

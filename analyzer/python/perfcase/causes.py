"""What a wait is due to, in words: the causes of the table blame."""

from __future__ import annotations

from collections.abc import Mapping


def due(wait: Mapping[str, str | None]) -> str:
    """Return what a wait is due to. ``wait``: comm, cause, on_comm, on_target and, if it is known, on_call, as in blame_by_comm."""
    on, target, call = wait["on_comm"] or "an unknown thread", wait["on_target"], wait.get("on_call")
    by = "" if on == wait["comm"] else f", by {on}"
    cause = wait["cause"] or "an unknown cause"
    return {
        "running": f"{on}, which ran" + (f" (in {call})" if call else ""),
        "cpu_taken": f"a CPU that {on} had",
        "cpu_idle": f"an idle CPU: the wake-up of {on}, a quota or a mask",
        "disk": f"{target or 'a block device'}{by}",
        "network": f"data from {target or 'another end'}{by}",
        "timeout": f"{target or 'nothing that came'}, in vain{by}",
        "no_work": f"{on}, which had nothing to do" + (f" ({target})" if target else ""),
        "sleep": f"a sleep of {on}",
        "interrupt": f"a device or timer without a name{by}",
        "stopped": f"{on}, which was stopped",
        "open": f"what did not come until the end ({target or call or 'no call known'}){by}",
        "not_recorded": "what was not recorded",
        "not_followed": "what was not followed",
    }.get(cause, cause)

"""Routes of the page: the files of scripts/page.sh. They need no token, because they hold no data."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse

from perfcase_api.errors import ApiError

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parents[1] / "page"


@router.get("/", response_class=FileResponse)
def index() -> Response:
    """Return the page itself. A browser checks it each time, because it names the files of one version."""
    found = FOLDER / "index.html"
    if not found.is_file():
        raise ApiError(
            "environment",
            "the page was not built",
            "scripts/page.sh builds it; all routes work without it: /openapi.json",
        )
    return FileResponse(found, headers={"Cache-Control": "no-cache"})


@router.get("/assets/{name}", response_class=FileResponse)
def asset(name: str) -> Response:
    """Return a file of the page. A browser keeps it forever, because its name changes with its content."""
    # One of the existing files, and not any path from the request.
    found = next((file for file in FOLDER.glob("assets/*") if file.name == name), None)
    if found is None:
        raise ApiError(
            "not_found", f"the page has no file {name[:80]}", "load the page again: another version was installed"
        )
    return FileResponse(found, headers={"Cache-Control": "public, max-age=31536000, immutable"})

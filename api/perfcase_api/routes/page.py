"""The page: files that scripts/page.sh built. Nobody needs a token to read them; they hold no data."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, Response
from fastapi.responses import FileResponse

from perfcase_api.errors import ApiError

router = APIRouter(include_in_schema=False)

FOLDER = Path(__file__).parents[1] / "page"


@router.get("/", response_class=FileResponse)
def index() -> Response:
    """The page itself. A browser checks it again each time: it names the files of its own version."""
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
    """A file of the page. Its name changes with what is in it, so that it is kept for good."""
    # One of the existing files, and not any path from the request.
    found = next((file for file in FOLDER.glob("assets/*") if file.name == name), None)
    if found is None:
        raise ApiError(
            "not_found", f"the page has no file {name[:80]}", "load the page again: another version was installed"
        )
    return FileResponse(found, headers={"Cache-Control": "public, max-age=31536000, immutable"})

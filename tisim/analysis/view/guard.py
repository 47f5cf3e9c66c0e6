"""Who may ask the server: only the page that it has given out itself.

The address that the server prints contains a random token. Requests need it as the first part of
their path, the server's own address as their Host (so that no name of another site leads here by
DNS rebinding), and, where browsers send them, its own Origin and the same site.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

# Longer addresses come from no page of ours.
_LONGEST = 8192
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors "
)
# Notebooks on this machine, whatever their port is.
_NOTEBOOKS = "http://127.0.0.1:* http://localhost:*"
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Refusal:
    """Why a request gets nothing.

    Attributes
    ----------
    status
        Of HTTP.
    reason
        What the answer says.
    """

    status: int
    reason: str


class Guard:
    """Checks requests.

    Parameters
    ----------
    port
        Of the server.
    token
        The first part of all paths; a random one when not given.
    framed
        Whether notebooks on this machine may show the page in a frame.
    """

    def __init__(self, port: int, token: str | None = None, *, framed: bool = False) -> None:
        self._framed = framed
        self.token = secrets.token_urlsafe(24) if token is None else token
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        self.address = f"http://127.0.0.1:{port}/{self.token}/"

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of every answer."""
        ancestors = _NOTEBOOKS if self._framed else "'none'"
        return {**_HEADERS, "Content-Security-Policy": _POLICY + ancestors}

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Why a request gets nothing; None: it is allowed.

        Parameters
        ----------
        method
            Of HTTP.
        path
            With its query.
        headers
            By their names in lower case.
        """
        if headers.get("host", "") not in self._hosts:
            return Refusal(421, "ask for the address that tisim view has printed")
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return Refusal(403, "pages of other origins get nothing")
        other_site = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if other_site and not self._is_frame(path, headers):
            return Refusal(403, "pages of other sites get nothing")
        if method not in ("GET", "HEAD"):
            return Refusal(405, "nothing can be changed here")
        if len(path) > _LONGEST:
            return Refusal(414, "the address is too long")
        token = path.removeprefix("/").partition("/")[0].partition("?")[0]
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return Refusal(404, "the address lacks the token that tisim view has printed")
        return None

    def _is_frame(self, path: str, headers: Mapping[str, str]) -> bool:
        """Whether a notebook asks for the page itself: all the rest is asked for by the page."""
        asked = headers.get("sec-fetch-dest") == "iframe"
        return self._framed and asked and path == f"/{self.token}/"

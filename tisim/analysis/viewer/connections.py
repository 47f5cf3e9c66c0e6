"""Connections of the viewer's server: idle connections are closed to admit new ones."""

from __future__ import annotations

import asyncio
from typing import cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Maximum number of connections; all are local, so their addresses cannot distinguish them.
MAX_CONNECTIONS = 32
#: Maximum number of seconds until the head of a request has arrived.
SECONDS_FOR_HEAD = 5.0


class BoundedProtocol(H11Protocol):  # type: ignore[misc]  # untyped
    """HTTP on one connection, which is closed if the head of a request is late.

    If there are too many connections, the oldest one without a pending answer is closed.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.opened = self.loop.time()
        self._deadline: asyncio.TimerHandle | None = None
        self._expect_head()
        if len(self.connections) > MAX_CONNECTIONS:
            others = cast("set[BoundedProtocol]", self.connections)
            idle = [connection for connection in others if not connection.answers]
            min(idle, key=lambda connection: connection.opened, default=self).transport.abort()

    @property
    def answers(self) -> bool:
        """True if an answer is pending."""
        return self.cycle is not None and not self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget()

    def _expect_head(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(SECONDS_FOR_HEAD, self.transport.abort)

    def _forget(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

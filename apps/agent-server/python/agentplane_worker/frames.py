"""Frames as `src/protocol/frame.ts` describes them.

On the wire, integers little-endian, texts UTF-8:
``length of what follows: u32 | kind: u8 | id: u32 | length of head: u32 | head | body``
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_START = struct.Struct("<IBII")
_LENGTH = struct.Struct("<I")
_LENGTH_BYTES = 4
_FIXED_BYTES = 9

_TO_HOST = ("load", "perform", "stop", "wanted", "hold", "ask", "echo", "serving", "leave", "fetched", "denied")
_FROM_HOST = (
    *("sources", "loading", "loaded", "refused", "event", "outcome", "answer", "echo", "trouble", "health", "fetch"),
)
_KINDS = {name: number for number, name in enumerate(_FROM_HOST)}


#: Of a head, as `src/protocol/messages.ts` reads it: beyond it the server ends this process.
_MAX_HEAD_BYTES = 16 * 2**20


class HeadTooLong(Exception):
    """A message whose head the server would not read: it is not sent."""


class Frame(NamedTuple):
    """A message of the server."""

    kind: str
    #: Number of the run, of the question or of the worker's own request.
    id: int
    #: JSON text of an object, or empty.
    head: bytes
    body: bytes


def encode(kind: str, id: int, head: bytes, body: bytes) -> bytes:
    """A message to the server, as bytes. Raises HeadTooLong."""
    if len(head) > _MAX_HEAD_BYTES:
        raise HeadTooLong(f'the head of a message "{kind}" has {len(head)} bytes; the limit is {_MAX_HEAD_BYTES}')
    start = _START.pack(_FIXED_BYTES + len(head) + len(body), _KINDS[kind], id, len(head))
    return b"".join((start, head, body))


class FrameReader:
    """Makes frames of bytes that arrive in any pieces."""

    def __init__(self) -> None:
        self._held = bytearray()

    def read(self, piece: bytes) -> list[Frame]:
        """The frames that are complete now."""
        held = self._held
        held += piece
        frames: list[Frame] = []
        at = 0
        while len(held) - at >= _LENGTH_BYTES:
            (length,) = _LENGTH.unpack_from(held, at)
            end = at + _LENGTH_BYTES + length
            if len(held) < end:
                break
            _, kind, id, head_bytes = _START.unpack_from(held, at)
            body_from = at + _START.size + head_bytes
            head = bytes(held[at + _START.size : body_from])
            frames.append(Frame(_TO_HOST[kind], id, head, bytes(held[body_from:end])))
            at = end
        if at > 0:
            del held[:at]
        return frames

"""The text of a file in whatever encoding, or a sentence about which one it may be."""

import codecs
from pathlib import Path

from tsnl.store.files import MOST_TEXT, open_plain

MOST_DATA = 256_000_000  # bytes of a table
MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # with which a file says that it is UTF-16


def read_plain(path: Path, most: int = MOST_TEXT) -> bytes:
    """The bytes of a file that is a file, and not too large; nobody is waited for.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is a pipe, a device or a folder, or too large.
    """
    try:
        with open_plain(path) as file:
            data = file.read(most + 1)
    except ValueError as error:
        raise ValueError(f"{path} is {error}: give a file of text.") from error
    if len(data) > most:
        raise ValueError(f"{path} has more than {most:,} bytes, which are the most that are read.")
    return data


def read_text(path: Path, encoding: str | None = None) -> str:
    """The text of a table.

    Args:
        path: of the file.
        encoding: None for UTF-8, and for UTF-16 where the file begins with its mark.

    Raises:
        ValueError: it is in another encoding, no text at all, no plain file, or too large.
    """
    data = read_plain(path, MOST_DATA)
    if data.startswith(b"PK\x03\x04"):
        raise ValueError(f"{path} is a spreadsheet or an archive, no text: save it as CSV.")
    name = encoding or ("utf-16" if data.startswith(MARKS) else "utf-8-sig")
    try:
        text = data.decode(name)
    except LookupError as error:
        raise ValueError(
            f"encoding is {encoding!r}, which is not known: expected one such as utf-8, latin-1, cp1252 "
            f"or utf-16."
        ) from error
    except UnicodeError as error:
        raise ValueError(f"{path} is no text in {encoding or 'UTF-8'}{_hint(data, error)}") from error
    if "\0" in text:
        raise ValueError(f"{path} is no text in {encoding or 'UTF-8'}{_hint(data, None)}")
    return text.removeprefix("\ufeff")


def _hint(data: bytes, error: UnicodeError | None) -> str:
    """What it may be instead; UTF-16 of a table has a zero in every second byte."""
    if data.count(0) > 0.4 * len(data):
        order = "le" if data[1::2].count(0) > data[::2].count(0) else "be"
        return f": it looks like UTF-16; give --encoding utf-16-{order}."
    if not isinstance(error, UnicodeDecodeError):
        return ": save it as CSV."
    line = data[: error.start].count(b"\n") + 1
    return (
        f" (byte 0x{data[error.start]:02X} on line {line}): save it as UTF-8, or say which encoding it "
        f"has, most often --encoding latin-1."
    )

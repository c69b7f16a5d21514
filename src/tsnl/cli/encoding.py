"""The text of a file in whatever encoding, or a sentence about which one it may be."""

import codecs
from pathlib import Path

MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # with which a file says that it is UTF-16


def read_text(path: Path, encoding: str | None = None) -> str:
    """The text of a file.

    Args:
        path: of the file.
        encoding: None for UTF-8, and for UTF-16 where the file begins with its mark.

    Raises:
        ValueError: it is in another encoding, or no text at all.
    """
    data = path.read_bytes()
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

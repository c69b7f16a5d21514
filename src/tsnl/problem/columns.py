"""Names of the columns of a series."""


def shown_names(names: tuple[str, ...], count: int) -> tuple[str, ...]:
    """The names to show: those given, or y, or y[0], y[1], ... as Python counts."""
    if names:
        return names
    return ("y",) if count == 1 else tuple(f"y[{j}]" for j in range(count))

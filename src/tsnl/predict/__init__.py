"""States behind a series, and what comes after it."""

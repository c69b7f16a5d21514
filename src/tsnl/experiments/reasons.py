"""Why a measurement differs from the paper's claim, in words, under the claim's key: edit by hand."""

REASONS: dict[str, str] = {}

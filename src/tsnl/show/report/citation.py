"""How to cite: the same as in CITATION.cff, which a test holds."""

METHOD = {
    "title": (
        "Truncated Neural Likelihood Estimation for Simulation-Based Inference in State-Space Models"
    ),
    "authors": ("Kostas Tsampourakis", "Víctor Elvira"),
}
SOFTWARE = {
    "title": "tsnl: truncated sequential neural likelihood for state-space models",
    "authors": ("The tsnl developers",),
}


def sentences(version: str) -> list[str]:
    """Two references, software and method."""
    return [
        f"{', '.join(SOFTWARE['authors'])}. {SOFTWARE['title']}. Version {version}.",
        f"{' and '.join(METHOD['authors'])}. {METHOD['title']}.",
    ]

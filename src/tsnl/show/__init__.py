"""Results as tables, pictures and one HTML page."""

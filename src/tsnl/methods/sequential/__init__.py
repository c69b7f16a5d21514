"""Sequential neural likelihood: of one kernel for all rows (T-SNL), or of whole series (SNL)."""

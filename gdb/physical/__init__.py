"""Physical operators: over columns, over rows, and what both share."""

"""How operators run: over columns, over rows, and what both do alike."""

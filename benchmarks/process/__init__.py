"""A Python process: installed size, import, first answer."""

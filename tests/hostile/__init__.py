"""What strangers hand over: stores that others made, links in them, files of other users."""

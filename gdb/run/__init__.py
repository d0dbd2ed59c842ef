"""The life of one query: what was asked, what is kept of its text, which way it goes, who may end it."""

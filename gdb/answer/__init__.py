"""Answers of queries: rows and columns, elements, the summary, and conversions to other libraries' types."""

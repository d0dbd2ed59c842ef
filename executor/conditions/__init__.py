"""Conditions on one element: predicates evaluated once over the columns of a label.

They become candidate sets of a nest. Text conditions read UTF-8 in place.
"""

"""The life of one query: the request, the caches of texts and plans, the choice of a way to run, cancellation."""

"""Several processes, and graphs larger than memory."""

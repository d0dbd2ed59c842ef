"""What others made to do harm: files, stores, folders."""

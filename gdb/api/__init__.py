"""The public face: databases, snapshots, transactions, queries."""

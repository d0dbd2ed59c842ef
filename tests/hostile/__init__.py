"""What strangers can hand to gdb: stores, links in their places, files of other users.

`python -m tests.hostile --stores 5000` (`make hostile`) forges stores whose checksums are right, and uses each.
"""

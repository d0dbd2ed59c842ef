"""See `tests.hostile.campaign`."""

from tests.hostile.campaign import main

main()

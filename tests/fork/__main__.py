"""The long run: python -m tests.fork [--rounds N] (`make fork`)."""

from tests.fork.campaign import main

if __name__ == "__main__":
    main()

"""`python -m pangaea` is the same as `pangaea`."""

from pangaea.cli import main

main()

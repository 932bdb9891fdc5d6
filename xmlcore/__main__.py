"""`python -m xmlcore`."""

import sys

from xmlcore.cli import main

sys.exit(main())

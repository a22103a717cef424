"""`python -m samebits.cli`."""

import sys

from samebits.cli import main

sys.exit(main())

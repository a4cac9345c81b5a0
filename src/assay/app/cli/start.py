"""The console script's first step: an interruption while the program is still being loaded ends it quietly."""

import importlib
import sys
from typing import NoReturn

__all__ = ["INTERRUPTED", "entry"]

INTERRUPTED = 130


def entry(module: str = "assay.app.cli.main") -> NoReturn:
    """Loads the command line and runs it; exit code 130 where that is interrupted before it can say so itself."""
    try:
        main = importlib.import_module(module).main
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(main(sys.argv[1:]))

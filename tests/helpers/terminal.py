"""Standard error that is a terminal."""

import io


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


class PlainTerminal(Terminal):
    encoding = "ascii"

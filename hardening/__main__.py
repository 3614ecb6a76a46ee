"""``python -m hardening``: run the parts that are named, or all, and write their tables to results/hardening.

``python -m hardening installs`` has options of its own, and runs by itself.
"""

import argparse
import sys
from importlib import import_module

from hardening import installs

PARTS = {  # each is a module with run(count, minutes)
    "fuzz": "hardening.fuzz",
    "arrays": "hardening.arrays",
    "kills": "hardening.kills",
    "soak": "hardening.soak",
    "mutants": "hardening.mutants",
}


def main() -> None:
    if sys.argv[1:2] == ["installs"]:
        installs.main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(prog="python -m hardening", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; all, if none is named")
    parser.add_argument("--count", type=int, help="how many inputs, cases or kills")
    parser.add_argument("--minutes", type=float, help="how long to run, for those that run as long as they are told")
    options = parser.parse_args()
    if unknown := sorted(set(options.parts) - set(PARTS)):
        parser.error(f"there is no part {unknown[0]!r}: choose from {', '.join(PARTS)}")
    for name in options.parts or PARTS:
        print(import_module(PARTS[name]).run(options.count, options.minutes), flush=True)


if __name__ == "__main__":
    main()

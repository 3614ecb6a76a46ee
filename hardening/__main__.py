"""``python -m hardening PART [OPTIONS]``: run one part, print its table, write it to results/hardening."""

import sys

from hardening import installs

PARTS = {
    "installs": installs.main,
}


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in PARTS:
        sys.exit(f"Name one of: {', '.join(PARTS)}")
    PARTS[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    main()
